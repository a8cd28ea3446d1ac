"""Arguments that a person writes into an approval: they must fit the tool while the question is still open."""

import pytest

from agio.core.link.link import ToolOffer
from agio.core.store.records import AgentFields, AgentTool
from tests.integration.gateway.open_calls import end_with_question
from tests.support.engine import Hand
from tests.support.house import code_of, house

MAIL = ToolOffer(
    name="send_mail",
    description="Send a mail.",
    parameters={
        "type": "object",
        "properties": {"to": {"type": "string"}},
        "required": ["to"],
        "additionalProperties": False,
    },
    kind="module",
    approval="ask",
)
WRONG: list[dict[str, object]] = [{}, {"to": 7}, {"to": "eve", "cc": "x"}, {"To": "eve"}]


@pytest.mark.parametrize("edited", WRONG)
async def test_what_does_not_fit_is_refused_and_the_question_stays_open(edited: dict[str, object]) -> None:
    """B7: a slip does not close the question, nor cost the approval; the corrected answer counts."""
    async with house() as place, place.client() as client:
        fields = AgentFields(
            name="Mailer",
            system_prompt="Mail.",
            model_provider="demo",
            model_name="demo",
            tools=[AgentTool("send_mail")],
        )
        agent = await place.store.create_agent("default", fields)
        session = await place.store.start_session("default", "ann", agent.id)
        worker, link, _ = await place.room.join(tools=[MAIL])
        path = f"/api/agent-sessions/{session.id}"
        await client.post(f"{path}/message", json={"content": "Mail Bob"})
        question = await end_with_question(Hand(link, await worker.next_job()))
        answer = {"interrupt_id": question, "approved": True, "edited_args": edited}
        refused = await client.post(f"{path}/answer", json={"answers": [answer]})
        assert (refused.status_code, code_of(refused)) == (422, "invalid_answer")
        assert refused.json()["error"]["details"] == {"interrupt_id": question, "tool": "send_mail"}
        if not edited:
            assert refused.json()["error"]["message"] == 'send_mail is missing the required field "to".'
        assert (await client.get(f"{path}/interrupts")).json()["items"][0]["state"] == "open"
        assert worker.jobs.empty()
        right = {**answer, "edited_args": {"to": "eve"}}
        assert (await client.post(f"{path}/answer", json={"answers": [right]})).status_code == 202
        assert b'"editedArgs":{"to":"eve"}' in (await worker.next_job()).log.payload
        again = await client.post(f"{path}/answer", json={"answers": [answer]})
        assert (again.status_code, code_of(again)) == (409, "interrupt_closed")
