import { expect, test } from "vitest";
import type { Event } from "@/protocol/events";
import { deltasOf, filterRows, rowsOfLog, summaryOf } from "./event-rows";

const log = [
  { type: "RUN_STARTED", threadId: "t", runId: "r", timestamp: 1000, metadata: { run: "r", seq: 1 } },
  {
    type: "TEXT_MESSAGE_CHUNK",
    messageId: "m1",
    delta: "Good ",
    timestamp: 1010,
    metadata: { run: "r", seq: 2 },
  },
  {
    type: "TEXT_MESSAGE_CHUNK",
    messageId: "m1",
    delta: "morn",
    timestamp: 1020,
    metadata: { run: "r", seq: 3 },
  },
  {
    type: "TEXT_MESSAGE_CHUNK",
    messageId: "m1",
    delta: "ing",
    timestamp: 1030,
    metadata: { run: "r", seq: 4 },
  },
  {
    type: "TEXT_MESSAGE_CHUNK",
    messageId: "m2",
    delta: "Bye",
    timestamp: 1040,
    metadata: { run: "r", seq: 5 },
  },
  {
    type: "CUSTOM",
    name: "agio.error",
    value: { code: "stream_broken", message: "It broke." },
    timestamp: 1050,
    metadata: { run: "r", seq: 6 },
  },
  {
    type: "TEXT_MESSAGE_CHUNK",
    messageId: "m2",
    delta: "!",
    timestamp: 1060,
    metadata: { run: "r", seq: 7 },
  },
  { type: "RUN_ERROR", message: "No more.", code: "stream_broken", timestamp: 1070 },
] as unknown as Event[];

const words = (rows: ReturnType<typeof rowsOfLog>) =>
  rows.map((row) => `${row.seq} +${row.offsetMs} ${row.type} x${row.events.length} ${summaryOf(row)}`);

test("pieces of one text that follow each other are one row", () => {
  expect(words(rowsOfLog(log, false))).toEqual([
    "1 +0 RUN_STARTED x1 ",
    "2 +10 TEXT_MESSAGE_CHUNK x3 Good morning",
    "5 +40 TEXT_MESSAGE_CHUNK x1 Bye",
    "6 +50 agio.error x1 stream_broken: It broke.",
    "7 +60 TEXT_MESSAGE_CHUNK x1 !",
    "8 +70 RUN_ERROR x1 stream_broken No more.",
  ]);
});

test("raw, every event is a row", () => {
  expect(rowsOfLog(log, true).map((row) => row.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test("a text is found across the pieces it came in, and in any field", () => {
  const rows = rowsOfLog(log, false);
  expect(filterRows(rows, "", "MORNING").map((row) => row.seq)).toEqual([2]);
  expect(filterRows(rows, "", "stream_broken").map((row) => row.seq)).toEqual([6, 8]);
  expect(filterRows(rows, "agio.error", "").map((row) => row.seq)).toEqual([6]);
  expect(filterRows(rows, "agio.error", "morning")).toEqual([]);
});

test("an empty log has no rows, and an event without a time none either", () => {
  expect(rowsOfLog([], false)).toEqual([]);
  const [row] = rowsOfLog([{ type: "RAW", event: {} }] as unknown as Event[], false);
  expect(row).toMatchObject({ seq: 1, offsetMs: null });
  expect(row && deltasOf(row)).toBe("");
});
