"""Admission of a run: checks its messages, tool results and answers, alone and against the thread's open calls."""

from collections.abc import Sequence

from agio.core.config import AgentRunConfig
from agio.core.run.answers import answer_problem
from agio.core.run.fold import Fold
from agio.core.run.spec import RunRequest
from agio.errors import UserError
from agio.protocol.messages import Message, ResumeEntry, ToolMessage, UserMessage, text_of


def check_input(messages: Sequence[Message], resume: Sequence[ResumeEntry], limit_bytes: int) -> None:
    """Refuse input that is invalid in every thread. Raises UserError."""
    for message in messages:
        match message:
            case UserMessage():
                text = text_of(message.content)
                if len(text.encode("utf-8", "replace")) > limit_bytes:
                    raise UserError("message_too_large", f"A message may have {limit_bytes} bytes of text.")
                if not text.strip() and (isinstance(message.content, str) or not message.content):
                    raise UserError("empty_message", "The message is empty.")
            case ToolMessage():
                if len(text_of(message.content).encode("utf-8", "replace")) > limit_bytes:
                    raise UserError(
                        "message_too_large", f"A tool result may have {limit_bytes} bytes of text."
                    )
            case _:
                raise UserError("invalid_message", "A run begins with user messages or results of tools.")
    if len({entry.interrupt_id for entry in resume}) < len(resume):
        raise UserError("duplicate_answer", "A question was answered twice. Send one answer for each.")
    for entry in resume:
        if (problem := answer_problem(entry)) is not None:
            raise UserError("invalid_answer", f"The answer to {entry.interrupt_id} does not fit: {problem}.")
    if not messages and not resume:
        raise UserError("empty_message", "There is nothing to run: send a message, a result or an answer.")


def check_run(request: RunRequest, fold: Fold, config: AgentRunConfig) -> None:
    """Refuse a request that does not fit the thread's pending calls and open interrupts. Raises UserError."""
    check_input(request.messages, request.resume, config.max_message_bytes)
    waiting = {call.id for call in fold.open_calls}
    for message in request.messages:
        if isinstance(message, ToolMessage) and message.tool_call_id not in waiting:
            raise UserError(
                "unknown_tool_call",
                f"No call {message.tool_call_id} waits for a result in this thread.",
            )
    for entry in request.resume:
        interrupt = fold.interrupts.get(entry.interrupt_id)
        if interrupt is None or interrupt.tool_call_id not in waiting:
            raise UserError("unknown_interrupt", f"No question {entry.interrupt_id} is open in this thread.")
