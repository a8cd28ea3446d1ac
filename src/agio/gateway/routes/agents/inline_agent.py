"""An agent that a program defines for one session; a stored agent of the same name supplies the defaults."""

from msgspec import Struct, structs

from agio.core.identity.principal import Principal
from agio.core.provider import vendor_of
from agio.core.store.records import AgentFields, AgentRecord, definition_of
from agio.errors import UserError
from agio.gateway.gateway import Gateway

_DEMO = "demo"


class Described(Struct, frozen=True, kw_only=True):
    """A program's definition of its agent."""

    name: str
    instructions: str = ""
    model: str | None = None


async def describe_agent(
    gateway: Gateway, who: Principal, said: Described, now: AgentRecord | None = None
) -> AgentFields:
    """Build an agent from a definition; `now` is the current one, which supplies the defaults.

    A stored agent of the same name supplies model and limits, and its prompt if there are no instructions. Its tools
    and approvals are looked up when a run begins, so that removing a tool takes effect everywhere. Raises UserError
    `empty_input`, `agent_inactive`, `invalid_model`, `unknown_provider`.
    """
    known = await gateway.store.find_agent(who.tenant, said.name) if said.name else None
    if known is not None and known.status != "active":
        raise UserError("agent_inactive", f"The agent {known.name} is not active.", {"agent": known.name})
    base = known or now
    name = said.name or (base.name if base else "")
    instructions = said.instructions if said.instructions.strip() else base.system_prompt if base else ""
    if not name.strip() or not instructions.strip():
        raise UserError("empty_input", "An agent needs a name and instructions.")
    if said.model is not None or base is None:
        beside = base.model_provider if base is not None else _DEMO
        provider, model = await choose_model(gateway, who.tenant, said.model, beside)
    else:
        provider, model = base.model_provider, base.model_name
    fields = AgentFields(name=name, system_prompt=instructions, model_provider=provider, model_name=model)
    if base is None:
        return fields
    given = ("name", "system_prompt", "model_provider", "model_name", "status")
    rest = {field: value for field, value in definition_of(base).items() if field not in given}
    return structs.replace(fields, **rest)


async def choose_model(
    gateway: Gateway, tenant: str, named: str | None, beside: str = _DEMO
) -> tuple[str, str]:
    """Return the provider and model of `provider:model`, or of a model name alone.

    A model name alone belongs to the agent's provider (`beside`), or to the only configured one. Without a name and
    without a configured provider: the demo model. Raises UserError `invalid_model`, `unknown_provider`.
    """
    own = await gateway.store.list_providers(tenant)
    set_up = {provider.name for provider in own}
    if not set_up:
        set_up = {vendor_of(name) for name in gateway.pool.providers_for(tenant)} - {_DEMO}
    if named is None:
        if (listed := next((provider for provider in own if provider.models), None)) is not None:
            return listed.name, listed.models[0]
        if not set_up:
            return _DEMO, _DEMO
        raise _which(set_up, "Choose a model")
    if not named.strip():
        raise UserError("invalid_model", "The model name must not be blank.")
    provider, colon, model = named.partition(":")
    if colon and (provider in gateway.providers or any(provider == one.name for one in own)):
        if not model.strip():
            raise UserError("invalid_model", f"{named!r} is not a model. Write it as provider:model.")
        return provider, model.strip()
    if beside != _DEMO:
        return beside, named
    if len(set_up) == 1:
        return set_up.pop(), named
    if not set_up:
        return _DEMO, _DEMO
    raise _which(set_up, f"{named!r} names no provider")


def _which(set_up: set[str], why: str) -> UserError:
    known = sorted(set_up)
    return UserError(
        "invalid_model",
        f"{why}. Write it as provider:model. Providers: {', '.join(known)}.",
        {"providers": known},
    )
