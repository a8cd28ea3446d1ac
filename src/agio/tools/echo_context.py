"""Shows the model the context of its call: tenant, user, session, run and agent."""

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
