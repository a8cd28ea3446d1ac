import { expect, test } from "vitest";
import type { AgentView } from "@/protocol/api";
import { ALL_AGENTS, filterAgents } from "./agent-filter";

const agent = (name: string, changes: Partial<AgentView> = {}) =>
  ({
    name,
    description: "",
    status: "active",
    model_provider: "demo",
    model_name: "demo",
    ...changes,
  }) as AgentView;

const AGENTS = [
  agent("Zoe", { description: "Answers Orders" }),
  agent("adam", { model_provider: "openai", model_name: "gpt-5" }),
  agent("Bea", { status: "inactive" }),
];
const names = (changes: Partial<typeof ALL_AGENTS>) =>
  filterAgents(AGENTS, { ...ALL_AGENTS, ...changes }).map(({ name }) => name);

test("all agents are shown by name, whatever their case", () => {
  expect(names({})).toEqual(["adam", "Bea", "Zoe"]);
});

test("every word must be in the name, the description or the model", () => {
  expect(names({ words: "  ORDERS zo " })).toEqual(["Zoe"]);
  expect(names({ words: "gpt openai" })).toEqual(["adam"]);
  expect(names({ words: "orders gpt" })).toEqual([]);
});

test("status and provider narrow it down", () => {
  expect(names({ status: "inactive" })).toEqual(["Bea"]);
  expect(names({ provider: "openai" })).toEqual(["adam"]);
  expect(names({ provider: "openai", status: "inactive" })).toEqual([]);
});
