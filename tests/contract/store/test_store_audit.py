"""The audit log on every database: an entry is there if and only if the change is."""

from collections.abc import Awaitable, Callable, Generator

import pytest

from agio.core.http_tool import HttpTool, ToolRequest
from agio.core.identity.account import Account
from agio.core.identity.principal import ApiKey, WebSession
from agio.core.identity.team import Invitation
from agio.core.identity.worker_key import WorkerKey
from agio.core.provider import ProviderFields, Sealed
from agio.core.store.audit import ACTOR, OPERATOR, Actor, AuditEntry
from agio.core.store.records import AgentTool
from agio.core.store.store import Store
from agio.db.postgres.driver import connect
from agio.db.repository import Repository
from agio.db.sqlite.database import open_unchecked
from agio.errors import AgioError, UserError
from agio.protocol.messages import ResumeEntry
from tests.support.backends import Backend, PostgresDatabase, SqliteFile
from tests.support.scenes import Person, agent_fields, claim, interrupt, person

ANN = Actor(tenant="default", user="ann", credential="key_1", address="192.0.2.7", request_id="req-1")
FAR = 1 << 50
SEALED = Sealed("k1", b"sealed")
PROVIDER = ProviderFields(name="ours", kind="openai", models=["m"])
TOOL = HttpTool(description="d", method="GET", url="https://example.com/", parameters={"type": "object"})


@pytest.fixture(autouse=True)
def acting() -> Generator[None]:
    """Somebody acts."""
    token = ACTOR.set(ANN)
    yield
    ACTOR.reset(token)


@pytest.fixture
async def ann(store: Store) -> Person:
    """The owner of the first team."""
    await store.add_tenant("default", "Default")
    await store.add_user("default", "ann", "Ann", "owner")
    return await person(store, "default", "ann")


async def entries(store: Store, tenant: str = "default") -> list[AuditEntry]:
    """The log, oldest first."""
    return list(reversed((await store.list_audit(tenant, limit=200)).items))


async def told(store: Store, tenant: str = "default") -> list[tuple[str, str]]:
    """Actions and objects, oldest first."""
    return [(entry.action, entry.object) for entry in await entries(store, tenant)]


async def test_an_entry_says_who_did_what_when_and_to_what(store: Store, ann: Person) -> None:
    """B11: who, with which credential, from where, in which request; and what of it changed, without its content."""
    agent = await ann.agent("helper")
    changed = agent_fields("helper", system_prompt="A secret plan.", tools=[AgentTool("clock")])
    await store.update_agent("default", agent.id, changed)
    await store.delete_agent("default", agent.id)
    made, updated, deleted = await entries(store)
    assert (made.action, made.object, made.details) == ("agent.create", agent.id, {"name": "helper"})
    assert (made.user, made.credential, made.address, made.request_id) == (
        "ann",
        "key_1",
        "192.0.2.7",
        "req-1",
    )
    assert updated.details == {"name": "helper", "changed": ["system_prompt", "tools"]}
    assert deleted.action == "agent.delete"
    assert made.number < updated.number < deleted.number
    assert made.at <= updated.at <= deleted.at


async def test_a_change_that_is_refused_leaves_no_entry(store: Store, ann: Person) -> None:
    """B11: entry and change are one transaction."""
    await ann.agent("helper")
    await store.add_tenant("solo", "Solo")
    await store.add_user("solo", "sol", "Sol", "owner")
    before = await entries(store)
    refused: list[Callable[[], Awaitable[object]]] = [
        lambda: store.create_agent("default", agent_fields("helper")),
        lambda: store.update_agent("default", "agt_nobody", agent_fields()),
        lambda: store.delete_agent("default", "agt_nobody"),
        lambda: store.revoke_api_key("default", "ann", "key_nobody"),
        lambda: store.set_role("default", "nobody", "admin"),
        lambda: store.set_role("solo", "sol", "member"),
        lambda: store.remove_member("solo", "sol"),
        lambda: store.revoke_invitation("default", "inv_nobody"),
        lambda: store.delete_session("default", "ann", "ses_nobody"),
        lambda: store.delete_file("default", "ann", "file_nobody"),
        lambda: store.delete_provider("default", "prv_nobody"),
        lambda: store.delete_tool_definition("default", "tool_nobody"),
        lambda: store.assign_tool("default", "agt_nobody", "clock", None),
        lambda: store.set_password("acc_nobody", "hash"),
        lambda: store.accept_invitation(b"no such", Account("acc_1", "a@b.c", "A", None)),
    ]
    for change in refused:
        with pytest.raises(AgioError):
            await change()
    assert await entries(store) == before
    assert not await entries(store, "solo")


async def test_what_nobody_does_by_hand_is_not_told(store: Store, ann: Person) -> None:
    """B11: messages and what is read leave no entry, nor does what a program does without anybody acting."""
    session = await ann.session()
    before = await entries(store)
    await ann.send(session)
    await store.get_session("default", "ann", session.id)
    ACTOR.set(None)
    await ann.agent("of-a-program")
    assert await entries(store) == before


async def test_keys_and_sessions_of_browsers_are_told(store: Store, ann: Person) -> None:
    """B11: who signed in, from where, and out; which keys were made and ended, and never the key."""
    ACTOR.set(Actor(tenant="", user="", credential="", address="192.0.2.9"))
    browser = WebSession(
        id="web_1", tenant="default", user="ann", token_hash=b"t", authenticated_at=1, expires_at=FAR
    )
    await store.add_web_session(browser)
    await store.end_web_session(b"t")
    await store.end_web_session(b"t")
    ACTOR.set(ANN)
    key = ApiKey("key_9", "default", "ann", "ci", "agio_abcd", 1, permissions=frozenset({"use", "build"}))
    await store.add_api_key(key, b"hash")
    await store.add_api_key(ApiKey("key_8", "default", "ann", "x", "agio_abcd", 1), b"h2", only_first=True)
    await store.revoke_api_key("default", "ann", "key_9")
    came, went, made, ended = await entries(store)
    assert (came.action, came.user, came.credential, came.address) == ("sign_in", "ann", "web_1", "192.0.2.9")
    assert (went.action, went.user, went.object) == ("sign_out", "ann", "web_1")
    assert made.details == {"name": "ci", "permissions": ["build", "use"], "for": "ann"}
    assert (ended.action, ended.object) == ("key.revoke", "key_9")


async def test_every_key_that_ends_with_another_is_told(store: Store, ann: Person) -> None:
    """B11: an entry each, which says with which key it ended."""
    await store.add_api_key(ApiKey("key_1", "default", "ann", "ci", "agio_abcd", 1), b"1")
    await store.add_api_key(ApiKey("key_2", "default", "ann", "x", "agio_abcd", 1, made_by="key_1"), b"2")
    await store.revoke_api_key("default", "ann", "key_1")
    ended = [entry for entry in await entries(store) if entry.action == "key.revoke"]
    assert [(entry.object, entry.details) for entry in ended] == [
        ("key_1", {"of": "ann"}),
        ("key_2", {"of": "ann", "with": "key_1"}),
    ]


async def test_teams_and_people_are_told(store: Store, ann: Person) -> None:
    """B11: accounts, members, roles, invitations, the team's settings; no e-mail address among them."""
    account = Account("acc_1", "ann@example.com", "Ann", "hash")
    await store.create_account(account, "default", "ann")
    await store.set_password("acc_1", "other")
    await store.set_password("acc_1", "rehashed", instead_of="other")
    await store.rename_tenant("default", "Ours")
    await store.set_retention("default", 30)
    await store.set_sdk_sessions("default", "use")
    invitation = Invitation(
        id="inv_1",
        tenant="default",
        email="bob@example.com",
        role="member",
        invited_by="ann",
        created_at=1,
        expires_at=FAR,
    )
    await store.add_invitation(invitation, b"token")
    ACTOR.set(Actor(tenant="", user="", credential=""))
    bob = await store.accept_invitation(b"token", Account("acc_2", "bob@example.com", "Bob", "hash"))
    await store.note_failed_sign_in("acc_2")
    ACTOR.set(ANN)
    await store.set_role("default", bob.user, "admin")
    await store.remove_member("default", bob.user)
    log = await entries(store)
    assert [entry.action for entry in log] == [
        "account.create",
        "account.password",
        "tenant.rename",
        "tenant.retention",
        "tenant.sdk_sessions",
        "invitation.create",
        "invitation.accept",
        "sign_in.fail",
        "member.role",
        "member.remove",
    ]
    by_action = {entry.action: entry for entry in log}
    assert by_action["tenant.retention"].details == {"days": 30}
    assert by_action["invitation.accept"].user == bob.user
    assert (by_action["sign_in.fail"].object, by_action["sign_in.fail"].user) == ("acc_2", bob.user)
    assert by_action["member.role"].details == {"from": "member", "to": "admin"}
    assert "example.com" not in str(log)


async def test_what_a_team_builds_is_told(store: Store, ann: Person) -> None:
    """B11: tools, providers and who may use which; no secret, sealed or not."""
    agent = await ann.agent()
    await store.create_tool_definition("default", "tool_1", "weather", TOOL, {"token": SEALED})
    await store.update_tool_definition("default", "tool_1", "forecast", TOOL, {})
    await store.assign_tool("default", agent.id, "forecast", "ask")
    await store.unassign_tool("default", agent.id, "forecast")
    await store.delete_tool_definition("default", "tool_1")
    await store.create_provider("default", "prv_1", PROVIDER, SEALED)
    await store.update_provider("default", "prv_1", PROVIDER, None)
    await store.delete_provider("default", "prv_1")
    log = await entries(store)
    assert [(entry.action, entry.object) for entry in log[1:]] == [
        ("tool.create", "tool_1"),
        ("tool.update", "tool_1"),
        ("agent.assign", agent.id),
        ("agent.unassign", agent.id),
        ("tool.delete", "tool_1"),
        ("provider.create", "prv_1"),
        ("provider.update", "prv_1"),
        ("provider.delete", "prv_1"),
    ]
    assert log[2].details["changed"] == ["name"]
    assert log[7].details["changed"] == ["has_key"]
    assert "sealed" not in str(log)


async def test_who_approved_which_call_is_told(store: Store, ann: Person) -> None:
    """B11, B7: an answer to a question about a call is told with the tool, and once."""
    session = await ann.session()
    await ann.send(session)
    await interrupt(store, await claim(store), "int_1", "int_2")
    answers = [
        ResumeEntry("int_1", "resolved", {"approved": True, "editedArgs": {"n": "private"}}),
        ResumeEntry("int_2", "resolved", {"approved": False, "reason": "private"}),
    ]
    before = len(await entries(store))
    await ann.send(session, None, resume=answers, key="k", digest=b"d")
    await ann.send(session, None, resume=answers, key="k", digest=b"d")
    yes, no = (await entries(store))[before:]
    assert (yes.action, yes.object, yes.details["tool"]) == ("tool_call.answer", "call_int_1", "pay")
    assert (yes.details["approved"], yes.details["edited"]) == (True, True)
    assert (no.details["approved"], no.details["edited"]) == (False, False)
    assert "private" not in str([yes, no])


async def test_a_call_by_hand_is_told_unless_it_only_reads(store: Store, ann: Person) -> None:
    """B11, S4: a call that may change something, the first time."""

    def request(number: int, effect: str, key: bytes | None = None) -> ToolRequest:
        return ToolRequest(
            id=f"tex_{number}",
            session_id=None,
            key_hash=key,
            digest=b"d",
            tool="pay",
            effect="read" if effect == "read" else "once",
        )

    await store.begin_tool_request("default", "ann", request(1, "read"))
    await store.begin_tool_request("default", "ann", request(2, "once", b"k"))
    await store.begin_tool_request("default", "ann", request(3, "once", b"k"))
    assert await told(store) == [("tool_call.execute", "tex_2")]


async def test_the_operator_is_told_of_without_a_user(store: Store, ann: Person) -> None:
    """B11: what is done at the command line goes to the team it is done to, or to the operator's own."""
    await store.add_tenant("other", "Other")
    ACTOR.set(OPERATOR)
    await store.add_user("other", "eve", "Eve", "owner")
    await store.add_api_key(ApiKey("key_7", "other", "eve", "first", "agio_abcd", 1), b"h7")
    await store.add_worker_key(WorkerKey("wky_1", "w", "agio_w", None, 1), b"w")
    await store.revoke_worker_key("wky_1")
    assert await told(store) == [("worker_key.create", "wky_1"), ("worker_key.revoke", "wky_1")]
    [made] = await entries(store, "other")
    assert (made.user, made.credential, made.object) == ("", "cli", "key_7")


async def test_the_log_is_read_in_pages_newest_first_and_by_action_and_user(
    store: Store, ann: Person
) -> None:
    """B11: an owner finds what they look for, and nothing of another team's."""
    for number in range(5):
        await ann.agent(f"agent-{number}")
    await store.set_retention("default", 7)
    bob = await person(store, "other", "bob")
    await bob.agent("theirs")
    first = await store.list_audit("default", limit=4)
    rest = await store.list_audit("default", after=first.next, limit=4)
    numbers = [entry.number for entry in (*first.items, *rest.items)]
    assert (len(first.items), len(rest.items), rest.next) == (4, 2, None)
    assert numbers == sorted(numbers, reverse=True)
    assert [
        entry.action for entry in (await store.list_audit("default", action="tenant.retention")).items
    ] == ["tenant.retention"]
    assert not (await store.list_audit("default", user="bob")).items
    assert len((await store.list_audit("other")).items) == 1
    with pytest.raises(UserError, match="invalid_cursor"):
        await store.list_audit("default", after="nonsense")


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_log set action = 'nothing'",
        "update audit_log set details = details where number = 1",
        "delete from audit_log",
        "delete from audit_log where number = 1",
        "truncate audit_log",
        "insert or replace into audit_log select number, tenant_id, at, 'x', '', '', '', '', '', '' from audit_log",
    ],
)
async def test_no_entry_can_be_changed_or_taken_away(backend: Backend, statement: str) -> None:
    """B11: the database itself refuses, whoever asks."""
    opened = await backend.open()
    await (await person(opened)).agent("helper")
    before = await entries(opened)
    assert len(before) == 1
    assert isinstance(opened, Repository)
    match backend:
        case SqliteFile():
            await opened.close()
            await _refused_by_sqlite(backend, statement)
        case PostgresDatabase():
            if "or replace" not in statement:
                await _refused_by_postgres(backend, statement)
            await opened.close()
        case _:
            raise AssertionError(backend)
    opened = await backend.open()
    assert await entries(opened) == before
    await opened.close()


async def _refused_by_sqlite(backend: SqliteFile, statement: str) -> None:
    connection = open_unchecked(backend.path)
    with pytest.raises(Exception, match=r"append-only|truncate"):
        connection.execute(statement)
    connection.close()


async def _refused_by_postgres(backend: PostgresDatabase, statement: str) -> None:
    connection = await connect(backend.url)
    with pytest.raises(Exception, match="append-only"):
        await connection.execute(statement)
    await connection.close()


async def test_a_secret_that_was_entered_anew_is_told_by_its_field(store: Store, ann: Person) -> None:
    """B11: who replaced a key can be found out, also if nothing else was changed."""
    await store.create_tool_definition("default", "tool_1", "weather", TOOL, {})
    await store.update_tool_definition("default", "tool_1", "weather", TOOL, {"header:x": SEALED})
    await store.create_provider("default", "prv_1", PROVIDER, SEALED)
    await store.update_provider("default", "prv_1", PROVIDER, SEALED)
    await store.update_provider("default", "prv_1", PROVIDER, "keep")
    log = [entry.details for entry in await entries(store) if entry.action.endswith(".update")]
    assert [details.get("secrets") for details in log] == [["header:x"], ["api_key"], None]
    assert str(SEALED.data) not in str(log)
