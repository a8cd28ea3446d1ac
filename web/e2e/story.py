"""A small team with what it has said and done: what the tour and the pictures of the docs show."""

import json
from asyncio import Event
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from playwright.async_api import Page

from agio.core.model import Usage
from agio.testing import Call, Reply, VendorError
from agio.testing.capture import ModelCall
from web.e2e.scene import Scene

EMAIL = "mara@lumen.example"
PASSWORD = "seven green lanterns at dusk"
PRICES = {"openai:gpt-5": {"input": 1.25, "output": 10}, "openai:gpt-5-mini": {"input": 0.25, "output": 2}}
ENVIRONMENT = {"AGIO_PRICES": json.dumps(PRICES), "AGIO_EGRESS_ALLOW": "127.0.0.1, localhost"}
APP = '''
from agio import Agent, handoff, tool

ORDERS = [
    {"order": 1042, "item": "Desk lamp, brass", "status": "shipped", "arrives": "Thursday"},
    {"order": 1038, "item": "Floor lamp, oak", "status": "delivered", "arrives": "last Monday"},
    {"order": 1017, "item": "Spare shade, linen", "status": "waits for stock", "arrives": "in two weeks"},
]


@tool(effect="read")
def find_orders(customer: str) -> list[dict[str, object]]:
    """Find the orders of a customer.

    Args:
        customer: Name or e-mail address.
    """
    return ORDERS


@tool(approval="ask")
def refund(order: int, amount: float, reason: str) -> str:
    """Pay money back to a customer.

    Args:
        order: The number of the order.
        amount: How much, in euros.
        reason: What the customer is told.
    """
    return f"{amount:.2f} euros of order {order} are on their way back."


@tool(effect="read")
def search_library(words: str, limit: int = 3) -> str:
    """Search the team's library of articles."""
    raise LookupError(f"The library knows nothing about {words}.")


proofreader = Agent("Proofreader", "Correct the spelling, and nothing else.", model="openai:gpt-5-mini")
night_report = Agent(
    "Night report",
    "Write what happened today, in five lines.",
    model="openai:gpt-5-mini",
    tools=[find_orders, proofreader.as_tool("proofread", "Corrects a text.")],
    handoffs=[handoff(proofreader, "When only the spelling is left.", filter="last_message")],
)
'''
MARKDOWN = r"""## Binary search

It halves what is left at every step, so a list of $n$ entries takes at most $\lceil \log_2 n \rceil$ looks:

$$T(n) = T\left(\frac{n}{2}\right) + 1 \in O(\log n)$$

| Entries | Looks, one by one | Looks, halving |
| ---: | ---: | ---: |
| 100 | 100 | 7 |
| 10,000 | 10,000 | 14 |
| 1,000,000 | 1,000,000 | 20 |

```python
def find(entries: list[int], wanted: int) -> int | None:
    low, high = 0, len(entries)
    while low < high:
        middle = (low + high) // 2
        if entries[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < len(entries) and entries[low] == wanted else None
```

Three things to remember:

1. The list must be **sorted**.
2. `middle` never goes beyond what is left.
3. For a few dozen entries, looking one by one is just as fast.
"""
ORDERS = """I found **three orders** of Ines Castell:

| Order | Item | Status | Arrives |
| --- | --- | --- | --- |
| 1042 | Desk lamp, brass | shipped | Thursday |
| 1038 | Floor lamp, oak | delivered | last Monday |
| 1017 | Spare shade, linen | waits for stock | in two weeks |

The brass lamp is on its way and should be there on **Thursday**. Shall I tell her about the linen shade, too?
"""
STREAMED = "The lighthouse keeper wrote a line for every night, and the first one was about the fog. " * 40
TERMS = "\n".join(
    f"{number}. The maker mends or replaces what breaks within {number + 1} years of ordinary use."
    for number in range(1, 41)
)


def answer(call: ModelCall) -> Reply:
    """Say what the story's model says to the last message, or to what its tools said."""
    asked = call.last_user_text
    if call.messages and call.messages[-1][0] == "tool":
        return Reply(_AFTER_TOOLS.get(asked, "Done."), usage=Usage(input=1480, output=164))
    return _SAID.get(asked, Reply("Gladly. What would you like to know?", usage=Usage(input=310, output=12)))


def answer_slowly(call: ModelCall) -> Reply:
    """Say the same about as fast as models do."""
    return replace(answer(call), chunk_chars=12, pace_s=0.02)


_SAID = {
    "Where are the orders of Ines Castell?": Reply(
        reasoning="The customer is named, so I can look the orders up before I answer.",
        tool_calls=[Call("find_orders", {"customer": "Ines Castell"})],
        usage=Usage(input=1210, output=58, reasoning=24),
    ),
    "Her oak lamp arrived broken. Pay it back.": Reply(
        "I will refund the oak lamp. Please confirm:",
        tool_calls=[
            Call(
                "refund", {"order": 1038, "amount": 89.0, "reason": "Your lamp arrived broken. We are sorry."}
            )
        ],
        usage=Usage(input=1730, output=72),
    ),
    "How fast is a binary search?": Reply(
        MARKDOWN,
        reasoning="A table and a short program say more than prose. I should mention that the list must be sorted.",
        usage=Usage(input=640, output=512, reasoning=96),
    ),
    "What do we know about linen shades?": Reply(
        tool_calls=[
            Call("search_library", {"words": "linen shades"}),
            Call("find_orders", {"customer": "all"}),
        ],
        usage=Usage(input=702, output=44),
    ),
    "Summarise the last quarter": Reply(fault=VendorError("invalid_api_key")),
    "Tell me a very long story": Reply(STREAMED, chunk_chars=40, gate=Event()),
    "Go on with the lighthouse": Reply(STREAMED, chunk_chars=40, gate=Event()),
}
_AFTER_TOOLS = {
    "Where are the orders of Ines Castell?": ORDERS,
    "Her oak lamp arrived broken. Pay it back.": "The 89.00 euros are on their way back to Ines Castell.",
    "What do we know about linen shades?": "The library has nothing about them; one order waits for a linen shade.",
}


class Story:
    """The team on a server, by the ids of what it has. `seed` makes it."""

    def __init__(self, here: Scene, page: Page):
        self.here = here
        self.page = page
        self.ids: dict[str, str] = {}

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """Ask the server as the team's owner."""
        return await self.here.call(self.page, method, path, body)

    async def seed(self) -> None:
        """Make the account, the people, the agents, the tools, the keys and the conversations."""
        account = {"email": EMAIL, "name": "Mara Lindqvist", "password": PASSWORD}
        await self.call("POST", "/api/account", account)
        await self.call("PATCH", "/api/tenant", {"name": "Lumen Lamps"})
        await self._people()
        await self._providers()
        await self._tools()
        await self._agents()
        await self._conversations()
        await self._memories()

    async def _people(self) -> None:
        for name, role in (("Jonas Weber", "admin"), ("Aiko Tanaka", "member")):
            invited = await self.call("POST", "/api/invitations", {"role": role})
            joining = await (await self.here.context()).new_page()
            email = f"{name.split()[0].lower()}@lumen.example"
            body = {"token": invited["token"], "name": name, "email": email, "password": PASSWORD}
            await self.here.call(joining, "POST", "/api/invitations/accept", body)
        await self.call("POST", "/api/invitations", {"role": "member", "email": "lea@lumen.example"})
        open_one = await self.call("POST", "/api/invitations", {"role": "member"})
        self.ids["invitation"] = open_one["path"]
        await self.call("POST", "/api/api-keys", {"name": "Shop website", "permissions": ["use"]})
        await self.call("POST", "/api/api-keys", {"name": "Nightly export", "expires_in_days": 90})
        for key in (await self.call("GET", "/api/api-keys"))["items"]:
            if key["name"] == "bootstrap":
                await self.call("DELETE", f"/api/api-keys/{key['id']}")
        changes = {"language": "Swedish", "city": "Malmö"}
        await self.call("PATCH", "/api/profile", {"changes": changes})

    async def _memories(self) -> None:
        for content, fields in (
            (
                "Used by the whole shop: returns are accepted for thirty days, with the receipt.",
                {"scope": "agent"},
            ),
            (
                "Lives in Malmö and prefers trains to planes.",
                {"memory_type": "preference", "importance": 0.8},
            ),
            ("Signs letters to customers with her first name only.", {"memory_type": "instruction"}),
            ("Visited the workshop in Lund.", {"memory_type": "episode", "scope": "user"}),
        ):
            path = f"/api/agents/{self.ids['support']}/memories"
            await self.call("POST", path, {"content": content, **fields})

    async def _providers(self) -> None:
        key = "sk-of-the-story-0000"
        office = {"name": "office", "kind": "openai-chat", "base_url": "http://localhost:11434/v1"}
        await self.call("POST", "/api/providers", {**office, "models": ["qwen3:14b", "gemma3:12b"]})
        claude = {"name": "anthropic", "kind": "anthropic", "api_key": key, "models": ["claude-sonnet-4-5"]}
        await self.call("POST", "/api/providers", claude)

    async def _tools(self) -> None:
        parameters = {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Such as Malmö."},
                "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
            },
            "required": ["city"],
        }
        weather = {
            "name": "weather",
            "description": "The weather of a city in the next days.",
            "method": "GET",
            "url": "https://weather.example/v1/forecast?city={city}",
            "headers": [{"name": "X-Api-Key", "value": "of-the-story", "secret": True}],
            "parameters": parameters,
            "result_path": "daily",
            "effect": "read",
        }
        made = await self.call("POST", "/api/agent-tools", weather)
        self.ids["weather"] = made["id"]
        parcel = {
            **weather,
            "name": "track_parcel",
            "description": "Where a parcel is.",
            "url": "https://parcels.example/v2/{number}",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "string"}},
                "required": ["number"],
            },
            "headers": [],
            "result_path": None,
        }
        await self.call("POST", "/api/agent-tools", parcel)
        archive = {"name": "archive", "server_url": "http://127.0.0.1:9/mcp", "bearer_token": "of-the-story"}
        self.ids["mcp"] = (await self.call("POST", "/api/mcp-servers", archive))["id"]
        listed = await self.call("GET", "/api/agent-tools")
        self.ids["calculator"] = next(tool["id"] for tool in listed["items"] if tool["name"] == "calculator")

    async def _agents(self) -> None:
        self.ids["research"] = await self.here.make_agent(
            self.page,
            "Research",
            description="Reads, compares and explains, with sources where it has them.",
            system_prompt="Explain things to people who build lamps. Prefer tables and short programs to prose.",
            model_provider="openai",
            model_name="gpt-5",
            tools=["search_library", "find_orders", "calculator", "weather"],
        )
        await self.here.make_agent(
            self.page,
            "Newsletter",
            description="Drafts the monthly letter.",
            model_provider="openai",
            model_name="gpt-5-mini",
            status="inactive",
        )
        self.ids["support"] = await self.here.make_agent(
            self.page,
            "Support",
            description="Answers customers: orders, refunds and repairs.",
            system_prompt="You help the customers of Lumen Lamps. Be warm and brief. Look orders up before you answer.",
            model_provider="openai",
            model_name="gpt-5",
            tools=["find_orders", "refund", "track_parcel"],
            handoffs=[
                {
                    "agent": self.ids["research"],
                    "description": "For questions about how our lamps are built.",
                    "filter": "no_tools",
                },
                {"agent": "Night report", "mode": "tool", "description": "Knows what happened today."},
            ],
        )
        listed = await self.call("GET", "/api/agents")
        self.ids |= {agent["name"]: agent["id"] for agent in listed["items"]}

    async def _conversations(self) -> None:
        ids = self.ids
        await self._said("sum", ids["demo"], "Twelve times seven", "What is 12 * (3 + 4)?", "Think about it")
        await self._said("long", ids["support"], "Terms of the warranty", f"Read these terms.\n\n{TERMS}")
        await self._said("failed", ids["research"], "The last quarter", "Summarise the last quarter")
        await self._said("shades", ids["research"], "Linen shades", "What do we know about linen shades?")
        await self._said(
            "markdown", ids["research"], "How fast is a binary search?", "How fast is a binary search?"
        )
        orders = "Where are the orders of Ines Castell?"
        await self._said(
            "stopped", ids["support"], "A very long story", "Tell me a very long story", ends=False
        )
        await self.call("POST", f"/api/agent-sessions/{ids['stopped']}/cancel", {})
        await self.ended(ids["stopped run"])
        await self._said("tools", ids["support"], "Orders of Ines Castell", orders)
        broken = "Her oak lamp arrived broken. Pay it back."
        await self._said("approval", ids["support"], "A broken oak lamp", orders, broken)
        gone = await self.call("POST", f"/api/agents/{ids['demo']}/sessions", {"title": "Gone"})
        ids["gone"] = gone["id"]
        await self.call("DELETE", f"/api/agent-sessions/{gone['id']}")

    async def begin_streaming(self) -> None:
        """Let one answer begin and not end, with a message that waits behind it."""
        await self._said(
            "streaming", self.ids["research"], "The lighthouse", "Go on with the lighthouse", ends=False
        )

    async def _said(self, name: str, agent: str, title: str, *texts: str, ends: bool = True) -> None:
        made = await self.call("POST", f"/api/agents/{agent}/sessions", {"title": title, "on_busy": "queue"})
        self.ids[name] = session = made["id"]
        for text in texts:
            sent = await self.call("POST", f"/api/agent-sessions/{session}/message", {"content": text})
            self.ids[f"{name} run"] = sent["run_id"]
            if ends:
                await self.ended(sent["run_id"])

    async def ended(self, run: str) -> None:
        """Wait until a run is over or waits for a person."""
        await self.here.ended(self.page, run)


def write_app(folder: Path) -> tuple[str, str]:
    """Write the team's module; return the arguments that serve it."""
    (folder / "lumen.py").write_text(APP)
    return ("--app", str(folder / "lumen.py"))
