"""Agents of the OpenAI Agents SDK: the SDK's Runner drives the run, agio records it.

`agent` makes an SDK agent one of ours, `engine` runs it, `lane` answers its model calls and tools from the log.
Imported only where a program uses the SDK: the extra `agio[openai-agents]`.
"""

try:
    import agents as _  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "agents":
        raise
    words = "The OpenAI Agents SDK is not installed: install agio with its extra openai-agents."
    raise ModuleNotFoundError(words, name="agents") from error
