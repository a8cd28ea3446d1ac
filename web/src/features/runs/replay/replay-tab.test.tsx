/** Playing a run again: by the clock, by the scrubber, and back. */
import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Event } from "@/protocol/events";
import { ReplayTab } from "./replay-tab";

const BEGAN = 1_700_000_000_000;
const place = (ms: number, seq: number) => ({ timestamp: BEGAN + ms, metadata: { run: "r", seq } });
const events = [
  {
    type: "RUN_STARTED",
    threadId: "t",
    runId: "r",
    input: { threadId: "t", runId: "r", messages: [{ id: "u", role: "user", content: "hello" }] },
    ...place(0, 1),
  },
  { type: "REASONING_MESSAGE_CHUNK", messageId: "m", delta: "Hm,", ...place(100, 2) },
  { type: "REASONING_MESSAGE_CHUNK", messageId: "m", delta: " well", ...place(200, 3) },
  { type: "REASONING_MESSAGE_CHUNK", messageId: "m", delta: " then.", ...place(20_200, 4) },
  { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "cancelled" }, ...place(20_300, 5) },
] as unknown as Event[];

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const show = (log = events) =>
  render(<ReplayTab log={{ events: log, phase: "ready", problem: null }} calls={[]} />);
const slider = () => screen.getByRole<HTMLInputElement>("slider", { name: "Time" });
const pass = (ms: number) => act(() => vi.advanceTimersByTime(ms));

test("it begins at the beginning and plays by the clock of the log", () => {
  show();
  expect(screen.getByText("hello")).toBeDefined();
  expect(screen.queryByText(/Hm/)).toBeNull();
  fireEvent.click(screen.getByRole("button", { name: "Play" }));
  pass(150);
  expect(screen.getByText("Hm,")).toBeDefined();
  fireEvent.click(screen.getByRole("button", { name: "Pause" }));
  pass(5_000);
  expect(screen.getByText("Hm,")).toBeDefined();
});

test("long pauses are shortened unless they are wanted", () => {
  show();
  expect(slider().getAttribute("aria-valuetext")).toBe("0 ms of 3.3 s, event 1 of 5");
  fireEvent.click(screen.getByRole("switch", { name: "Shorten pauses over 3 s" }));
  expect(slider().getAttribute("aria-valuetext")).toBe("0 ms of 20 s, event 1 of 5");
});

test("the scrubber goes ahead and back", () => {
  show();
  fireEvent.change(slider(), { target: { value: "3300" } });
  expect(screen.getByText("Hm, well then.")).toBeDefined();
  expect(screen.getByText("Stopped.")).toBeDefined();
  fireEvent.change(slider(), { target: { value: "120" } });
  expect(screen.getByText("Hm,")).toBeDefined();
  fireEvent.keyDown(slider(), { key: "PageUp" });
  expect(slider().getAttribute("aria-valuetext")).toContain("event 3 of 5");
});

test("the space bar plays and pauses, and at the end begins again", () => {
  show();
  fireEvent.keyDown(document.body, { key: " " });
  expect(screen.getByRole("button", { name: "Pause" })).toBeDefined();
  pass(4_000);
  expect(screen.getByRole("button", { name: "Again" })).toBeDefined();
  fireEvent.keyDown(slider(), { key: " " });
  expect(slider().getAttribute("aria-valuetext")).toContain("event 1 of 5");
});

test("four times as fast takes a quarter of the time", () => {
  show();
  fireEvent.click(screen.getByRole("button", { name: "4×" }));
  fireEvent.click(screen.getByRole("button", { name: "Play" }));
  pass(100);
  expect(screen.getByText("Hm, well")).toBeDefined();
});

test("a running call counts its seconds by the clock of the log", () => {
  const call = { toolCallId: "c", toolCallName: "slow" };
  show([
    ...events.slice(0, 1),
    { type: "TOOL_CALL_START", ...call, ...place(1_000, 2) },
    { type: "TOOL_CALL_END", ...call, ...place(1_000, 3) },
    { type: "CUSTOM", name: "agio.progress", value: { tool_call_id: "c" }, ...place(3_500, 4) },
  ] as unknown as Event[]);
  fireEvent.change(slider(), { target: { value: "3500" } });
  expect(screen.getByRole("button", { name: /slow.*Running · 2 s/ })).toBeDefined();
});
