import { expect, test } from "vitest";
import type { Event, Metrics } from "@/protocol/events";
import { metricsOf, sharesOf } from "./run-metrics";

const measured: Metrics = {
  scope: "step",
  input_tokens: 10,
  output_tokens: 5,
  cached_input_tokens: 2,
  reasoning_tokens: 1,
  model_ms: 100,
  tool_ms: 20,
  model_calls: 1,
};
const told = (value: Partial<Metrics>) =>
  ({ type: "CUSTOM", name: "agio.metrics", value: { ...measured, ...value } }) as unknown as Event;

test("while a run goes on, its total is that of its steps", () => {
  const { total, steps } = metricsOf([told({ step: 1, first_token_ms: 7, cost: 0.5 }), told({ step: 2 })]);
  expect(steps.map((step) => step.step)).toEqual([1, 2]);
  expect(total).toMatchObject({
    input_tokens: 20,
    model_ms: 200,
    model_calls: 2,
    first_token_ms: 7,
    cost: 0.5,
  });
});

test("a step that was stopped leaves the tokens of the others, and the total says that it is not all", () => {
  const untold = {
    type: "CUSTOM",
    name: "agio.metrics",
    value: { scope: "step", step: 2, model_ms: 5, tool_ms: 0, model_calls: 1, usage_partial: true },
  } as unknown as Event;
  expect(metricsOf([told({ step: 1 }), untold]).total).toMatchObject({
    input_tokens: 10,
    usage_partial: true,
  });
  const alone = metricsOf([untold]).total;
  expect(alone?.usage_partial).toBe(true);
  expect(alone?.input_tokens).toBeUndefined();
});

test("a run that has ended says its own total", () => {
  const { total } = metricsOf([told({ step: 1 }), told({ scope: "run", steps: 1, input_tokens: 99 })]);
  expect(total?.input_tokens).toBe(99);
});

test("a step that was measured twice counts once, with the last", () => {
  const { total, steps } = metricsOf([told({ step: 1 }), told({ step: 1, model_ms: 300 })]);
  expect(steps.length).toBe(1);
  expect(total?.model_ms).toBe(300);
});

test("without measurements there is no total, and no price is no cost of nothing", () => {
  expect(metricsOf([])).toEqual({ total: null, steps: [] });
  expect(metricsOf([told({ step: 1 })]).total?.cost).toBeUndefined();
});

test("time that neither models nor tools took is told apart, and never less than none", () => {
  expect(sharesOf(measured, 200)).toEqual([
    { name: "model", ms: 100 },
    { name: "tools", ms: 20 },
    { name: "other", ms: 80 },
  ]);
  expect(sharesOf({ ...measured, tool_ms: 0 }, 90)).toEqual([{ name: "model", ms: 100 }]);
});
