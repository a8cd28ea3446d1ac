import { expect, test } from "vitest";
import { Problem } from "@/api/problem";
import type { AgentView } from "@/protocol/api";
import {
  type AgentValues,
  bodyOf,
  checkValues,
  copyOf,
  NEW_AGENT,
  refusedFields,
  valuesOf,
} from "./agent-values";

const CLERK: AgentView = {
  id: "agent_1",
  name: "clerk",
  description: "Looks orders up.",
  status: "inactive",
  system_prompt: "Be brief.\n",
  goal: "Every order is answered.",
  model_provider: "acme",
  model_name: "small",
  temperature: 0,
  tools: [
    { name: "calculator", approval: null },
    { name: "send_postcard", approval: "ask" },
  ],
  handoffs: [{ agent: "agent_2", mode: "handoff", description: "Refunds.", filter: "no_tools", tool: "" }],
  approval: "ask",
  memory: "automatic",
  search_conversations: true,
  max_steps: 7,
  limits: {
    run_timeout_s: 90.5,
    turn_timeout_s: null,
    tool_timeout_s: null,
    max_tokens: 5000,
    context_tokens: null,
    max_history_messages: 0,
    compact_at_tokens: null,
    max_tool_tokens: null,
    max_memories: 3,
    memory_update_async: false,
  },
  output_schema: { type: "object" },
  source: "stored",
  read_only: false,
  created_at: 1,
  updated_at: 2,
};

const filled = (changes: Partial<AgentValues> = {}): AgentValues => ({
  ...NEW_AGENT,
  name: "clerk",
  system_prompt: "Be brief.",
  ...changes,
});

const refused = (problem: Problem, handoffs: AgentValues["handoffs"] = []) =>
  refusedFields(problem, { handoffs });

test("what was read from the server is sent back as it was", () => {
  const { id, source, read_only, created_at, updated_at, limits, ...said } = CLERK;
  expect(bodyOf(valuesOf(CLERK))).toEqual({
    ...said,
    limits: {
      run_timeout_s: 90.5,
      max_tokens: 5000,
      max_history_messages: 0,
      max_memories: 3,
      memory_update_async: false,
    },
  });
});

test("what is left empty is the server's default", () => {
  expect(bodyOf(filled())).toMatchObject({
    goal: null,
    temperature: null,
    max_steps: null,
    limits: null,
    output_schema: null,
    tools: [],
  });
});

test("names and models lose the blanks around them, the system prompt keeps its own", () => {
  const body = bodyOf(filled({ name: " clerk ", model_name: "small\t", system_prompt: "  a\n", goal: "  " }));
  expect(body).toMatchObject({ name: "clerk", model_name: "small", system_prompt: "  a\n", goal: null });
});

test("a new agent lacks its name and its instructions and nothing else", () => {
  expect(Object.keys(checkValues(NEW_AGENT))).toEqual(["name", "system_prompt"]);
  expect(checkValues(filled())).toEqual({});
  expect(checkValues(filled({ name: "  ", system_prompt: "\n" }))).toHaveProperty("name");
});

test("texts that are too long say how long they may be", () => {
  expect(checkValues(filled({ name: "x".repeat(101) })).name).toMatch(/100/);
  expect(checkValues(filled({ name: "\u{1f916}".repeat(100) }))).toEqual({});
});

test.each([
  ["temperature", "2.1", "0", "2"],
  ["temperature", "-0.1", "0.7", "1e0"],
  ["max_steps", "0", "1", "1000"],
  ["max_steps", "1.5", "2.0", "50"],
  ["max_steps", "many", "", " "],
  ["run_timeout_s", "0", "0.5", "86400"],
  ["turn_timeout_s", "3601", "3600", "1"],
  ["tool_timeout_s", "Infinity", "3600", "1"],
  ["max_tokens", "1000000001", "1", "1000000000"],
  ["max_history_messages", "-1", "0", "1000"],
] as const)("%s is not %s, but %s or %s", (field, wrong, least, most) => {
  expect(Object.keys(checkValues(filled({ [field]: wrong })))).toEqual([field]);
  expect(checkValues(filled({ [field]: least }))).toEqual({});
  expect(checkValues(filled({ [field]: most }))).toEqual({});
});

test.each(["{", "[]", "null", "7", '"text"'])("an output schema is a JSON object, not %s", (text) => {
  expect(checkValues(filled({ output_schema: text }))).toHaveProperty("output_schema");
});

test("an output schema that is too large is refused before it is sent", () => {
  const text = JSON.stringify({ description: "x".repeat(64 * 1024) });
  expect(checkValues(filled({ output_schema: text })).output_schema).toMatch(/64 KB/);
});

test("a copy has a name of its own that fits", () => {
  expect(copyOf(CLERK, ["clerk"]).name).toBe("clerk copy");
  expect(copyOf(CLERK, ["clerk", "clerk copy", "clerk copy 2"]).name).toBe("clerk copy 3");
  expect(copyOf({ ...CLERK, name: "x".repeat(100) }, []).name).toHaveLength(100);
});

test("a refusal is told at the field it is about", () => {
  expect(refused(new Problem("agent_exists", "Taken.", 409))).toEqual({ name: "Taken." });
  expect(refused(new Problem("unknown_tool", "None.", 422))).toEqual({ tools: "None." });
  expect(refused(new Problem("unknown_provider", "None.", 422))).toEqual({ model_provider: "None." });
  expect(refused(new Problem("invalid_schema", "No.", 422))).toEqual({ output_schema: "No." });
  const fields = [
    { path: "limits.max_tokens", problem: "too many" },
    { path: "tools.0.name", problem: "too long" },
    { path: "toString", problem: "unknown" },
  ];
  expect(refused(new Problem("invalid_body", "No.", 422, { fields }))).toEqual({
    max_tokens: "too many",
    tools: "too long",
  });
  expect(refused(new Problem("forbidden", "No.", 403))).toEqual({});
});

test("each other agent is checked by itself, and a refusal is told at the one it is about", () => {
  const [billing] = CLERK.handoffs as AgentValues["handoffs"];
  if (!billing) throw new Error();
  const asked = { ...billing, mode: "tool" as const };
  expect(checkValues(filled({ handoffs: [billing, asked] }))).toEqual({});
  expect(
    checkValues(
      filled({
        handoffs: [
          billing,
          { ...billing, tool: "9 lives", description: "x".repeat(1001) },
          { ...asked, agent: "" },
        ],
      }),
    ),
  ).toEqual({
    "handoffs.1.agent": expect.stringContaining("above"),
    "handoffs.1.description": expect.stringContaining("1,000"),
    "handoffs.1.tool": expect.stringContaining("64"),
    "handoffs.2.agent": "Choose an agent.",
  });
  const gone = new Problem("invalid_handoff", "There is no agent.", 422, { agent: "agent_2" });
  expect(refused(gone, [asked, billing])).toEqual({ "handoffs.1.agent": "There is no agent." });
  expect(refused(gone)).toEqual({});
  const fields = [{ path: "handoffs.0.tool", problem: "too long" }];
  expect(refused(new Problem("invalid_body", "No.", 422, { fields }), [billing])).toEqual({
    "handoffs.0.tool": "too long",
  });
});
