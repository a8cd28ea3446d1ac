/** The waterfall as somebody with a keyboard and a screen reader meets it. */
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { expect, test } from "vitest";
import type { ToolExecutionView } from "@/protocol/api";
import type { Event } from "@/protocol/events";
import { WaterfallTab } from "./waterfall-tab";

const BEGAN = 1_700_000_000_000;
const log = (lines: [number, object][]) => ({
  phase: "ready" as const,
  problem: null,
  events: lines.map(([ms, event], at) => ({
    ...event,
    timestamp: BEGAN + ms,
    metadata: { run: "r", seq: at + 1 },
  })) as unknown as Event[],
});
const ran = log([
  [0, { type: "RUN_STARTED", threadId: "t", runId: "r" }],
  [0, { type: "STEP_STARTED", stepName: "step-1" }],
  [90, { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "calculator" }],
  [95, { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"expression":"6*7"}' }],
  [100, { type: "TOOL_CALL_END", toolCallId: "c1" }],
  [104, { type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c1", content: "42" }],
  [104, { type: "STEP_FINISHED", stepName: "step-1" }],
  [105, { type: "RUN_FINISHED", threadId: "t", runId: "r" }],
]);
const calls: ToolExecutionView[] = [
  {
    key: "c1",
    tool: "calculator",
    effect: "read",
    state: "finished",
    error: null,
    started_at: 0,
    ended_at: 1,
  },
];

const show = (events = ran, now?: number) =>
  render(
    <Tooltip.Provider>
      <WaterfallTab log={events} calls={calls} now={now} />
    </Tooltip.Provider>,
  );
const rows = () => within(screen.getByRole("list", { name: "Timeline" })).getAllByRole("button");

test("every row says what it is, how long it took and in which step", () => {
  show();
  expect(rows().map((row) => row.firstChild?.textContent)).toEqual([
    "Step 1, 104 ms",
    "Model, 100 ms, step 1",
    "Tool calculator, 4 ms, step 1",
  ]);
});

test("arrows go from row to row, and Enter shows a tool's arguments, result and effect", async () => {
  const user = userEvent.setup();
  show();
  rows()[0]?.focus();
  await user.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}{Enter}");
  const tool = screen.getByRole("button", { name: /^Tool calculator/ });
  expect(document.activeElement).toBe(tool);
  expect(tool.getAttribute("aria-expanded")).toBe("true");
  expect(screen.getByText(/"expression": "6\*7"/)).toBeDefined();
  expect(screen.getByText("read only")).toBeDefined();
  await user.keyboard("{Home}");
  expect(document.activeElement).toBe(rows()[0]);
});

test("zooming to a row can be undone", async () => {
  const user = userEvent.setup();
  show();
  expect(screen.getByRole("button", { name: "Fit" }).hasAttribute("disabled")).toBe(true);
  await user.click(screen.getByRole("button", { name: /^Tool calculator/ }));
  await user.click(screen.getByRole("button", { name: "Zoom to this" }));
  await user.click(screen.getByRole("button", { name: "Fit" }));
  expect(screen.getByRole("button", { name: "Fit" }).hasAttribute("disabled")).toBe(true);
});

test("what goes on says so", () => {
  show({ ...ran, events: ran.events.slice(0, 2) }, BEGAN + 2_000);
  expect(screen.getByRole("button", { name: "Model, 2.0 s, step 1, in progress" })).toBeDefined();
});

test("a run that the run is queued has no rows but a word", () => {
  show(log([]));
  expect(screen.getByText(/the run is queued/)).toBeDefined();
});

test("hundreds of rows are shown some at a time", async () => {
  const user = userEvent.setup();
  const many = Array.from({ length: 150 }, (_, at): [number, object][] => [
    [at * 10, { type: "STEP_STARTED", stepName: `step-${at + 1}` }],
    [at * 10 + 9, { type: "STEP_FINISHED", stepName: `step-${at + 1}` }],
  ]).flat();
  show(log(many));
  expect(rows().length).toBe(200);
  await user.click(screen.getByRole("button", { name: "Show 100 more of 300" }));
  expect(rows().length).toBe(300);
});
