"""Passages: the searchable texts of memories, messages and documents, in one index.

A passage stands in a **place**, which says who may find it: a search names its places and sees nothing else.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

PassageKind: TypeAlias = Literal["memory", "message", "document"]


class EmbeddingModel(Struct, frozen=True):
    """The model that makes vectors of texts. `provider` is a team's provider of that name, else the operator's."""

    provider: str
    model: str
    size: int | None = None
    """How many numbers a vector has; None: as many as the model gives."""

    @property
    def name(self) -> str:
        """What is stored with each vector: vectors of another name are made again."""
        return f"{self.provider}:{self.model}" + ("" if self.size is None else f"@{self.size}")


class Recollection(Struct, frozen=True):
    """A memory that a run begins with. The text is untrusted."""

    id: str
    label: str
    text: str


class Passage(Struct, frozen=True, kw_only=True):
    """A text to index. `item_id` is what it is the text of: one passage for each item of a kind."""

    place: str
    kind: PassageKind
    item_id: str
    text: str
    at: int
    """The time that it is about, in milliseconds since 1970."""


class PassageQuery(Struct, frozen=True, kw_only=True):
    """A search. With a `vector` of the model's, what is near in meaning is found too."""

    text: str
    now: int
    """The time that words such as "last week" count from."""
    limit: int = 20
    vector: Sequence[float] | None = None
    model: str = ""
    """The model of the vector: vectors of other models are not compared."""


class FoundPassage(Struct, frozen=True):
    """A passage that was found, best first. The scores of one search can be compared."""

    item_id: str
    score: float


class FoundText(Struct, frozen=True):
    """A passage that was found, with its text."""

    item_id: str
    at: int
    text: str


class PassageToEmbed(Struct, frozen=True):
    """A passage without a vector of the current model."""

    number: int
    tenant: str
    text: str


class PassageStore(Protocol):
    """The vectors of passages."""

    async def passages_to_embed(self, model: str, after: int, limit: int) -> list[PassageToEmbed]:
        """Return passages after one, of all tenants, that have no vector of this model."""
        ...

    async def put_vectors(
        self, model: str, vectors: Sequence[tuple[PassageToEmbed, Sequence[float]]]
    ) -> None:
        """Set the vectors of passages. Those that were deleted or changed meanwhile are left out."""
        ...
