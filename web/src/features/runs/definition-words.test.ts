import { expect, test } from "vitest";
import type { PinnedAgent } from "@/protocol/api";
import { changesOf } from "./definition-words";

const agent: PinnedAgent = {
  name: "clerk",
  description: "",
  system_prompt: "Be brief.",
  model_provider: "openai",
  model_name: "small",
  status: "active",
  approval: "tool",
  memory: "suggest",
  search_conversations: false,
  temperature: null,
  goal: null,
  limits: null,
  max_steps: null,
  output_schema: null,
  tools: [],
};

test("each changed field says what it was and what it is, also where it was not set", () => {
  const http = { url: "https://example.com" };
  const after: PinnedAgent = {
    ...agent,
    temperature: 0.5,
    limits: { run_timeout_s: 9 } as PinnedAgent["limits"],
    tools: [
      { name: "clock", approval: null, http: null },
      { name: "pay", approval: "ask", http },
    ],
  };
  expect(changesOf(["temperature", "limits", "tools", "model_name"], agent, after)).toEqual([
    { name: "Temperature", before: "Not set", after: "0.5" },
    { name: "Limits", before: "Not set", after: '{\n  "run_timeout_s": 9\n}' },
    {
      name: "Tools",
      before: "None",
      after: `clock\npay (always asks)\n${JSON.stringify(http, null, 2)}`,
    },
    { name: "Model", before: "small", after: "small" },
  ]);
});

test("the agents that it names are one a line, with how and what they see", () => {
  const handoffs: PinnedAgent["handoffs"] = [
    { agent: "billing", mode: "handoff", filter: "no_tools", description: "Refunds.", tool: "" },
    { agent: "clerk", mode: "tool", filter: "all", description: "", tool: "look_up" },
  ];
  expect(changesOf(["handoffs"], agent, { ...agent, handoffs })).toEqual([
    {
      name: "Other agents",
      before: "None",
      after:
        "Hands over to billing, which sees no tool calls or results\n  Refunds.\nAsks clerk\n  Tool: look_up",
    },
  ]);
});
