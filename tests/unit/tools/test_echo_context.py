from agio.core.tool import ToolContext
from agio.tools.echo_context import echo_context


def test_it_tells_what_the_server_knows_of_the_call() -> None:
    """R7: tenant, user, session, run and agent, none of which the model can choose."""
    context = ToolContext(
        tenant="acme",
        user="ann",
        project=None,
        session="thr_1",
        run="run_1",
        call_id="call_1_1_0",
        report=lambda _: None,
        agent="helper",
    )
    assert echo_context(context) == {
        "tenant": "acme",
        "user": "ann",
        "session": "thr_1",
        "run": "run_1",
        "agent": "helper",
    }
    assert echo_context.parameters["properties"] == {}
