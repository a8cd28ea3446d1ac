"""A task: a short job for the gateway. One model turn without tools, or the list of a provider's models."""

import asyncio
from collections import Counter
from contextlib import aclosing

from agio.core.config import AgentRunConfig
from agio.core.engine.turn import retry_delay
from agio.core.link.link import Task, TaskResult
from agio.core.model import ModelDriver, ModelRequest, ModelSettings, TextDelta, TurnEnd, Usage
from agio.errors import LimitExceeded, ModelError
from agio.protocol.codec import encode
from agio.protocol.messages import UserMessage
from agio.worker.drivers import embed, list_models


async def perform_task(driver: ModelDriver, task: Task, config: AgentRunConfig) -> TaskResult:
    """Perform the task within its time limit; retry transient errors if the task asks for it.

    Raises ModelError, LimitExceeded `turn_too_large`.
    """
    failures: Counter[str] = Counter()
    try:
        async with asyncio.timeout(task.timeout_s):
            while True:
                try:
                    return await _perform(driver, task, config)
                except ModelError as error:
                    failures[error.code] += 1
                    delay_s = retry_delay(config, error, failures) if task.again else None
                    if delay_s is None:
                        raise
                await asyncio.sleep(delay_s)
    except TimeoutError as error:
        raise ModelError(
            "turn_timeout", f"The model was still answering after {task.timeout_s:g} s."
        ) from error


async def _perform(driver: ModelDriver, task: Task, config: AgentRunConfig) -> TaskResult:
    match task.wants:
        case "turn":
            return await _ask(driver, task, config.max_turn_bytes)
        case "models":
            return await _list(driver)
        case "embeddings":
            return await _embed(driver, task)


async def _embed(driver: ModelDriver, task: Task) -> TaskResult:
    made = await embed(driver, task.model, task.texts, task.size)
    return TaskResult("", made.usage, vectors=made.vectors)


async def _list(driver: ModelDriver) -> TaskResult:
    return TaskResult("", Usage(), await list_models(driver))


async def _ask(driver: ModelDriver, task: Task, limit_bytes: int) -> TaskResult:
    request = ModelRequest(
        model=task.model,
        system=task.instructions,
        messages=[UserMessage(id="task", content=task.prompt)],
        settings=ModelSettings(max_output_tokens=task.max_output_tokens),
    )
    text: list[str] = []
    size_bytes = 0
    async with aclosing(driver.stream(request)) as stream:
        async for batch in stream:
            for event in batch:
                if isinstance(event, TurnEnd):
                    return TaskResult("".join(text), event.usage)
                size_bytes += len(encode(event))
                if isinstance(event, TextDelta):
                    text.append(event.text)
            if size_bytes > limit_bytes:
                raise LimitExceeded("turn_too_large", f"The model's turn has more than {limit_bytes} bytes.")
    raise ModelError("stream_broken", "The model's stream ended before its answer did.", retryable=True)
