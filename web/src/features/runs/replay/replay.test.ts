import { expect, test } from "vitest";
import type { Event } from "@/protocol/events";
import { foldEvents } from "@/state/fold";
import { EMPTY } from "@/state/thread";
import { countAt, Film, framesOf, timesOf } from "./replay";

const at = (ms: number) => ({ type: "RAW", event: {}, timestamp: ms }) as unknown as Event;

/** A long run: text in pieces, with a rewind in the middle. */
const long: Event[] = Array.from({ length: 2_345 }, (_, index) => {
  const place = { timestamp: index * 10, metadata: { run: "r", seq: index + 1 } };
  if (index === 0) return { type: "RUN_STARTED", threadId: "t", runId: "r", ...place };
  if (index === 1_200) return { type: "CUSTOM", name: "agio.rewind", value: { to_seq: 900 }, ...place };
  return { type: "TEXT_MESSAGE_CHUNK", messageId: `m${index >> 6}`, delta: `${index} `, ...place };
}) as unknown as Event[];

test("events come at their own times, and a clock that goes back stops time instead", () => {
  expect(timesOf([at(1000), at(1500), at(1400), at(11_500)], false)).toEqual([0, 500, 500, 10_500]);
  expect(timesOf([at(1000), at(1500), at(1400), at(11_500)], true)).toEqual([0, 500, 500, 3_500]);
  expect(timesOf([], true)).toEqual([]);
});

test("as many events have come as were due", () => {
  const times = [0, 0, 10, 20];
  expect([-1, 0, 9, 10, 99].map((ms) => countAt(times, ms))).toEqual([0, 2, 2, 3, 4]);
});

test("from anywhere to anywhere, what is shown is what folding from the beginning shows", () => {
  const film = new Film(long);
  for (const count of [0, 1, 499, 500, 501, 2_345, 1_199, 1_201, 3, 2_000, 9_999, -4]) {
    const within = Math.max(0, Math.min(count, long.length));
    expect(film.after(count)).toEqual(foldEvents(EMPTY, 1, long.slice(0, within)));
  }
});

test("going back folds only from the last kept place", () => {
  const frames: Event[] = [];
  let read = 0;
  for (const event of long) frames.push(event);
  const counted = new Proxy(frames, {
    get(target, name, receiver) {
      if (name === "slice")
        return (from: number, to: number) => {
          read += to - from;
          return target.slice(from, to);
        };
      return Reflect.get(target, name, receiver);
    },
  });
  const film = new Film(counted);
  film.after(2_345);
  read = 0;
  film.after(1_234);
  expect(read).toBe(234);
});

test("the result of a call of an earlier run is shown with its tool", () => {
  const events = [
    { type: "RUN_STARTED", threadId: "t", runId: "r", metadata: { run: "r", seq: 1 } },
    {
      type: "TOOL_CALL_RESULT",
      messageId: "x",
      toolCallId: "c9",
      content: "sent",
      metadata: { run: "r", seq: 2 },
    },
  ] as unknown as Event[];
  const frames = framesOf(events, new Map([["c9", "send_postcard"]]));
  expect(new Film(frames).after(99).turns[0]?.parts).toMatchObject([
    { kind: "call", name: "send_postcard", result: "sent" },
  ]);
});
