"""Encodes OTLP as protobuf: for collectors that do not take JSON. It has only the fields that otlp.py writes."""

import struct
from typing import TypeAlias, cast

from agio.protocol.messages import Json

Fields: TypeAlias = dict[str, tuple[int, str]]

_RESOURCE: Fields = {"resource": (1, "attributed")}
MESSAGES: dict[str, Fields] = {
    "traces": {"resourceSpans": (1, "resource_spans")},
    "metrics": {"resourceMetrics": (1, "resource_metrics")},
    "resource_spans": {**_RESOURCE, "scopeSpans": (2, "scope_spans")},
    "resource_metrics": {**_RESOURCE, "scopeMetrics": (2, "scope_metrics")},
    "attributed": {"attributes": (1, "pair")},
    "scope_spans": {"scope": (1, "scope"), "spans": (2, "span")},
    "scope_metrics": {"scope": (1, "scope"), "metrics": (2, "metric")},
    "scope": {"name": (1, "text"), "version": (2, "text")},
    "span": {
        "traceId": (1, "hex"),
        "spanId": (2, "hex"),
        "parentSpanId": (4, "hex"),
        "name": (5, "text"),
        "kind": (6, "varint"),
        "startTimeUnixNano": (7, "fixed"),
        "endTimeUnixNano": (8, "fixed"),
        "attributes": (9, "pair"),
        "links": (13, "link"),
        "status": (15, "status"),
    },
    "link": {"traceId": (1, "hex"), "spanId": (2, "hex")},
    "status": {"message": (2, "text"), "code": (3, "varint")},
    "pair": {"key": (1, "text"), "value": (2, "value")},
    "value": {
        "stringValue": (1, "text"),
        "boolValue": (2, "varint"),
        "intValue": (3, "varint"),
        "doubleValue": (4, "double"),
        "arrayValue": (5, "array"),
    },
    "array": {"values": (1, "value")},
    "metric": {"name": (1, "text"), "unit": (3, "text"), "histogram": (9, "histogram")},
    "histogram": {"dataPoints": (1, "point"), "aggregationTemporality": (2, "varint")},
    "point": {
        "startTimeUnixNano": (2, "fixed"),
        "timeUnixNano": (3, "fixed"),
        "count": (4, "fixed"),
        "sum": (5, "double"),
        "bucketCounts": (6, "fixed_list"),
        "explicitBounds": (7, "double_list"),
        "attributes": (9, "pair"),
        "min": (11, "double"),
        "max": (12, "double"),
    },
}
"""The fields of each message: number, and message or kind of value."""
_VARINT, _FIXED, _LENGTH = 0, 1, 2


def encode_protobuf(kind: str, message: dict[str, Json]) -> bytes:
    """Encode a message of OTLP JSON. Raises KeyError for a field that is not in the table."""
    out = bytearray()
    for name, value in message.items():
        number, of = MESSAGES[kind][name]
        values = [value]
        if isinstance(value, list) and not of.endswith("_list"):
            values = cast("list[Json]", value)
        for each in values:
            wire, data = _encoded(of, each)
            out += _varint(number << 3 | wire)
            out += data if wire != _LENGTH else _varint(len(data)) + data
    return bytes(out)


def _encoded(of: str, value: Json) -> tuple[int, bytes]:
    match of:
        case "text":
            return _LENGTH, str(value).encode()
        case "hex":
            return _LENGTH, bytes.fromhex(str(value))
        case "varint":
            return _VARINT, _varint(int(cast("str | int", value)))
        case "fixed":
            return _FIXED, struct.pack("<Q", int(cast("str | int", value)))
        case "double":
            return _FIXED, struct.pack("<d", value)
        case "fixed_list":
            counts = [int(count) for count in cast("list[str]", value)]
            return _LENGTH, struct.pack(f"<{len(counts)}Q", *counts)
        case "double_list":
            bounds = cast("list[float]", value)
            return _LENGTH, struct.pack(f"<{len(bounds)}d", *bounds)
        case _:
            return _LENGTH, encode_protobuf(of, cast("dict[str, Json]", value))


def _varint(number: int) -> bytes:
    out = bytearray()
    number &= (1 << 64) - 1
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
