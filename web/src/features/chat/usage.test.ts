import { expect, test } from "vitest";
import { tokenWords } from "@/lib/usage-words";
import type { RunView } from "@/protocol/api";
import { newTurn } from "@/state/thread";
import { usageOf } from "./usage";

const run = (id: string, tokens: number | null, cost: number | null = null): RunView => ({
  id,
  agent_id: "agt_1",
  active_agent: null,
  agent_name: "demo",
  cancel_requested: false,
  copied_from: null,
  parent_run_id: null,
  branched: false,
  definition: null,
  cost,
  created_at: 1,
  ended_at: tokens === null ? null : 2,
  epoch: 1,
  error_code: null,
  error_message: null,
  first_pos: 0,
  goal_met: null,
  input_tokens: tokens,
  last_seq: 1,
  model: "demo:demo",
  output_tokens: tokens,
  question: null,
  request_id: "req_1",
  session_id: "ses_1",
  started_at: 1,
  status: tokens === null ? "running" : "completed",
  steps: 1,
  title: "",
  usage_partial: tokens === null ? null : false,
  user: "usr_1",
  user_name: "Ada",
});
const turn = (runId: string, tokens: number) => ({
  ...newTurn(runId),
  spent: { inputTokens: tokens, outputTokens: tokens, cost: 0.5, partial: false },
});

test("what runs is added to what has ended, and nothing is counted twice", () => {
  const runs = [run("run_2", null), run("run_1", 10, 0.25)];
  expect(usageOf(runs, [turn("run_1", 10), turn("run_2", 3)])).toEqual({
    inputTokens: 13,
    outputTokens: 13,
    cost: 0.75,
    partial: false,
  });
});

test("a run that was stopped before its model told what it used leaves the rest as it is, and a doubt", () => {
  const stopped = { ...run("run_2", null), ended_at: 3, usage_partial: true };
  const alone = usageOf([stopped], []);
  expect(alone).toEqual({ inputTokens: null, outputTokens: null, cost: null, partial: true });
  expect(tokenWords(alone)).toBe("token count unavailable");
  expect(tokenWords(usageOf([stopped, run("run_1", 10)], []))).toBe("at least 20 tokens");
});

test("a run of an older server that says 0 after a step was not told, and one that made no step used none", () => {
  const old = { ...run("run_1", 0), usage_partial: null };
  expect(tokenWords(usageOf([old], []))).toBe("token count unavailable");
  expect(tokenWords(usageOf([{ ...old, steps: 0 }], []))).toBe("0 tokens");
  expect(tokenWords(usageOf([{ ...old, usage_partial: false }], []))).toBe("0 tokens");
});

test("a chat without prices has no cost, which is not the same as costing nothing", () => {
  expect(usageOf([run("run_1", 10)], []).cost).toBeNull();
  expect(usageOf([run("run_1", 10, 0)], []).cost).toBe(0);
});

test("what was copied with a chat was paid for before", () => {
  const copied = { ...run("run_1", 10, 0.25), copied_from: "run_0" };
  const unknown = { ...run("run_2", null), copied_from: "" };
  expect(usageOf([run("run_3", 3, 0.5), unknown, copied], [turn("run_1", 10), turn("run_2", 5)])).toEqual({
    inputTokens: 3,
    outputTokens: 3,
    cost: 0.5,
    partial: false,
  });
});
