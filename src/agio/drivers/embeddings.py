"""Vectors of texts, from OpenAI's and compatible services, and from Gemini. The answers are untrusted input."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from agio.core.model import Embedded, Usage
from agio.drivers.body import encode_body
from agio.drivers.http import ModelHttp
from agio.protocol.messages import Json

ANSWER_BYTES = 64 * 1024 * 1024
MAX_SIZE = 16_384
"""The longest vector that is taken."""

T = TypeVar("T", bound=Struct)


class _Item(Struct, frozen=True):
    index: int
    embedding: list[float]


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0


class _OpenAI(Struct, frozen=True):
    data: list[_Item]
    usage: _Usage = _Usage()


class _Values(Struct, frozen=True):
    values: list[float]


class _Gemini(Struct, frozen=True):
    embeddings: list[_Values]


async def embed_openai(http: ModelHttp, model: str, texts: Sequence[str], size: int | None) -> Embedded:
    """Ask `{base}/embeddings`. Raises ModelError."""
    body: dict[str, Json] = {"model": model, "input": list(texts), "encoding_format": "float"}
    if size is not None:
        body["dimensions"] = size
    answer = await _ask(http, f"{http.base_url}/embeddings", body, _OpenAI)
    found = {item.index: item.embedding for item in answer.data}
    vectors = [found.get(index, []) for index in range(len(texts))]
    return Embedded(_checked(http, vectors, len(texts), size), Usage(input=answer.usage.prompt_tokens))


async def embed_gemini(
    http: ModelHttp, base: str, model: str, texts: Sequence[str], size: int | None
) -> Embedded:
    """Ask `{base}/models/{model}:batchEmbedContents`. Raises ModelError."""
    given: dict[str, Json] = {} if size is None else {"outputDimensionality": size}
    requests: list[Json] = [
        {"model": f"models/{model}", "content": {"parts": [{"text": text}]}, **given} for text in texts
    ]
    url = f"{base}/models/{model}:batchEmbedContents"
    answer = await _ask(http, url, {"requests": requests}, _Gemini)
    return Embedded(_checked(http, [each.values for each in answer.embeddings], len(texts), size), Usage())


async def _ask(http: ModelHttp, url: str, body: dict[str, Json], kind: type[T]) -> T:
    answer = await http.send(url, encode_body(body, {}), ANSWER_BYTES)
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise http.faults.make("invalid_response", f"{error}.") from error


def _checked(http: ModelHttp, vectors: list[list[float]], count: int, size: int | None) -> list[list[float]]:
    """Refuse vectors of another number or size than was asked for, or that differ in size. Raises ModelError."""
    sizes = {len(vector) for vector in vectors}
    wrong = sizes - ({size} if size is not None else sizes)
    if len(vectors) != count or len(sizes) != 1 or wrong or not 0 < min(sizes) <= MAX_SIZE:
        asked = "any one size" if size is None else f"{size} numbers"
        got = ", ".join(map(str, sorted(sizes))) or "none"
        raise http.faults.make(
            "invalid_response",
            f"it gave {len(vectors)} vectors of {got} numbers for {count} texts of {asked}.",
        )
    return vectors
