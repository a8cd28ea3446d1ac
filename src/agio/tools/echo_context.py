"""What the server knows of a call, shown to the model: for finding out who and where it is."""

from agio.core.tool import ToolContext, tool


@tool(effect="read")
def echo_context(context: ToolContext) -> dict[str, str]:
    """Tell for whom this conversation is: tenant, user, session, run and agent."""
    known = {
        "tenant": context.tenant,
        "user": context.user,
        "session": context.session,
        "run": context.run,
        "agent": context.agent,
    }
    return known if context.project is None else {**known, "project": context.project}
