/** An agent as its form has it: every field a text or a choice; read from a view, checked, made a body. */

import { fieldProblems, type Problem } from "@/api/problem";
import { isBlank } from "@/lib/blank";
import type { AgentBody, AgentView, HandoffBody } from "@/protocol/api";

/** Whether a person is asked before a call: as the tool says, always, or never. */
export type ToolApproval = "tool" | "ask" | "never";

export interface ChosenTool {
  name: string;
  approval: ToolApproval;
}

export interface AgentValues {
  name: string;
  description: string;
  status: "active" | "inactive";
  system_prompt: string;
  goal: string;
  model_provider: string;
  model_name: string;
  /** Empty: the model's default; so it is with every number here. */
  temperature: string;
  tools: ChosenTool[];
  handoffs: HandoffBody[];
  approval: "tool" | "ask";
  memory: AgentView["memory"];
  search_conversations: boolean;
  max_memories: string;
  /** Kept as it is: only programs set it. */
  memory_update_async: boolean | null;
  max_steps: string;
  run_timeout_s: string;
  turn_timeout_s: string;
  tool_timeout_s: string;
  max_tokens: string;
  context_tokens: string;
  max_history_messages: string;
  compact_at_tokens: string;
  max_tool_tokens: string;
  /** JSON text; empty: the answer is text. */
  output_schema: string;
}

/** A field of the form; each of another agent's is one of its own. */
export type FieldName = keyof AgentValues | `handoffs.${number}.${keyof HandoffBody}`;
type FieldWords = Partial<Record<FieldName, string>>;

export const NEW_HANDOFF: HandoffBody = {
  agent: "",
  mode: "handoff",
  description: "",
  filter: "all",
  tool: "",
};
export const MAX_HANDOFFS = 16;

export const NEW_AGENT: AgentValues = {
  name: "",
  description: "",
  status: "active",
  system_prompt: "",
  goal: "",
  model_provider: "demo",
  model_name: "demo",
  temperature: "",
  tools: [],
  handoffs: [],
  approval: "tool",
  memory: "suggest",
  search_conversations: false,
  max_memories: "",
  memory_update_async: null,
  max_steps: "",
  run_timeout_s: "",
  turn_timeout_s: "",
  tool_timeout_s: "",
  max_tokens: "",
  context_tokens: "",
  max_history_messages: "",
  compact_at_tokens: "",
  max_tool_tokens: "",
  output_schema: "",
};

const MAX_TOOLS = 100;
const MAX_SCHEMA_BYTES = 64 * 1024;
const NAME_CHARS = 100;
const HANDOFF_CHARS = 1000;
const TOOL_NAME = /^([A-Za-z][A-Za-z0-9_-]{0,63})?$/;

interface NumberRule {
  least: number;
  /** Whether the least itself is too little. */
  above?: boolean;
  most: number;
  whole: boolean;
}

const NUMBERS = {
  temperature: { least: 0, most: 2, whole: false },
  max_steps: { least: 1, most: 1000, whole: true },
  run_timeout_s: { least: 0, above: true, most: 86_400, whole: false },
  turn_timeout_s: { least: 0, above: true, most: 3600, whole: false },
  tool_timeout_s: { least: 0, above: true, most: 3600, whole: false },
  max_tokens: { least: 1, most: 1_000_000_000, whole: true },
  context_tokens: { least: 1000, most: 1_000_000_000, whole: true },
  max_history_messages: { least: 0, most: 1000, whole: true },
  compact_at_tokens: { least: 0, most: 1_000_000_000, whole: true },
  max_tool_tokens: { least: 1, most: 1_000_000_000, whole: true },
  max_memories: { least: 0, most: 200, whole: true },
} as const satisfies Partial<Record<keyof AgentValues, NumberRule>>;

const TEXTS = {
  name: { chars: NAME_CHARS, needed: "Enter a name." },
  description: { chars: 2000, needed: "" },
  system_prompt: { chars: 100_000, needed: "Enter the agent's instructions." },
  goal: { chars: 10_000, needed: "" },
  model_provider: { chars: 100, needed: "Choose a provider." },
  model_name: { chars: 200, needed: "Enter a model name." },
} as const satisfies Partial<Record<keyof AgentValues, { chars: number; needed: string }>>;

const LIMITS = [
  "run_timeout_s",
  "turn_timeout_s",
  "tool_timeout_s",
  "max_tokens",
  "context_tokens",
  "max_history_messages",
  "compact_at_tokens",
  "max_tool_tokens",
  "max_memories",
] as const;

export function valuesOf(agent: AgentView): AgentValues {
  const limit = (name: (typeof LIMITS)[number]) => numberText(agent.limits?.[name]);
  return {
    name: agent.name,
    description: agent.description,
    status: agent.status,
    system_prompt: agent.system_prompt,
    goal: agent.goal ?? "",
    model_provider: agent.model_provider,
    model_name: agent.model_name,
    temperature: numberText(agent.temperature),
    tools: agent.tools.map(({ name, approval }) => ({ name, approval: approval ?? "tool" })),
    handoffs: agent.handoffs,
    approval: agent.approval,
    memory: agent.memory,
    search_conversations: agent.search_conversations,
    max_memories: limit("max_memories"),
    memory_update_async: agent.limits?.memory_update_async ?? null,
    max_steps: numberText(agent.max_steps),
    run_timeout_s: limit("run_timeout_s"),
    turn_timeout_s: limit("turn_timeout_s"),
    tool_timeout_s: limit("tool_timeout_s"),
    max_tokens: limit("max_tokens"),
    context_tokens: limit("context_tokens"),
    max_history_messages: limit("max_history_messages"),
    compact_at_tokens: limit("compact_at_tokens"),
    max_tool_tokens: limit("max_tool_tokens"),
    output_schema: agent.output_schema ? JSON.stringify(agent.output_schema, null, 2) : "",
  };
}

/** What a copy of an agent begins with: all of it, under a name that is free. */
export function copyOf(agent: AgentView, taken: readonly string[]): AgentValues {
  const used = new Set(taken);
  for (let count = 1; ; count += 1) {
    const ending = count === 1 ? " copy" : ` copy ${count}`;
    const name = agent.name.slice(0, NAME_CHARS - ending.length) + ending;
    if (!used.has(name)) return { ...valuesOf(agent), name };
  }
}

/** The body the server takes. Give it values that were checked. */
export function bodyOf(values: AgentValues): AgentBody {
  const limits: NonNullable<AgentBody["limits"]> = Object.fromEntries(
    LIMITS.flatMap((name) => {
      const limit = numberOf(values[name]);
      return limit === null ? [] : [[name, limit]];
    }),
  );
  if (values.memory_update_async !== null) limits.memory_update_async = values.memory_update_async;
  return {
    name: values.name.trim(),
    description: values.description.trim(),
    status: values.status,
    system_prompt: values.system_prompt,
    goal: values.goal.trim() || null,
    model_provider: values.model_provider,
    model_name: values.model_name.trim(),
    temperature: numberOf(values.temperature),
    tools: values.tools.map(({ name, approval }) => ({
      name,
      approval: approval === "tool" ? null : approval,
    })),
    handoffs: values.handoffs.map((handoff) => ({ ...handoff, description: handoff.description.trim() })),
    approval: values.approval,
    memory: values.memory,
    search_conversations: values.search_conversations,
    max_steps: numberOf(values.max_steps),
    limits: Object.keys(limits).length > 0 ? limits : null,
    output_schema: schemaOf(values.output_schema),
  };
}

/** What is wrong with the values, by field, in words. */
export function checkValues(values: AgentValues): FieldWords {
  const found: FieldWords = {};
  for (const [name, rule] of entries(TEXTS)) {
    const text = values[name];
    if (rule.needed && isBlank(text)) found[name] = rule.needed;
    else if ([...text].length > rule.chars)
      found[name] =
        `At most ${rule.chars.toLocaleString()} characters, not ${[...text].length.toLocaleString()}.`;
  }
  for (const [name, rule] of entries(NUMBERS)) {
    const words = numberProblem(values[name], rule);
    if (words) found[name] = words;
  }
  for (const [at, handoff] of values.handoffs.entries()) {
    const { agent, mode, description, tool } = handoff;
    const same = values.handoffs.findIndex((other) => other.agent === agent && other.mode === mode);
    if (!agent) found[`handoffs.${at}.agent`] = "Choose an agent.";
    else if (same < at) found[`handoffs.${at}.agent`] = "This agent is listed above already.";
    if (description.length > HANDOFF_CHARS)
      found[`handoffs.${at}.description`] = `At most ${HANDOFF_CHARS.toLocaleString()} characters.`;
    if (!TOOL_NAME.test(tool))
      found[`handoffs.${at}.tool`] =
        "A letter, then letters, digits, _ and -, at most 64 characters together.";
  }
  if (values.tools.length > MAX_TOOLS) found.tools = `At most ${MAX_TOOLS} tools.`;
  const schema = schemaProblem(values.output_schema);
  if (schema) found.output_schema = schema;
  return found;
}

const FIELD_OF_CODE: Record<string, FieldName> = {
  agent_exists: "name",
  unknown_tool: "tools",
  unknown_provider: "model_provider",
  invalid_schema: "output_schema",
};

/** What the server found wrong with the values, by field; empty when it is about no field. */
export function refusedFields(problem: Problem, { handoffs }: Pick<AgentValues, "handoffs">): FieldWords {
  if (problem.code === "invalid_handoff") {
    const at = handoffs.findLastIndex(({ agent }) => agent === problem.details.agent);
    return at < 0 ? {} : { [`handoffs.${at}.agent`]: problem.message };
  }
  const field = FIELD_OF_CODE[problem.code];
  if (field) return { [field]: problem.message };
  const found: FieldWords = {};
  for (const [path, words] of Object.entries(fieldProblems(problem))) {
    const [first = "", second = ""] = path.split(".");
    const name = first === "limits" ? second : first === "handoffs" && second ? path : first;
    if (isField(name) && !found[name]) found[name] = words;
  }
  return found;
}

function isField(name: string): name is FieldName {
  return Object.hasOwn(NEW_AGENT, name) || /^handoffs\.\d+\.\w+$/.test(name);
}

function entries<Key extends string, Value>(of: Record<Key, Value>): [Key, Value][] {
  return Object.entries(of) as [Key, Value][];
}

function numberText(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

function numberOf(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

function numberProblem(text: string, { least, above, most, whole }: NumberRule): string | undefined {
  const value = numberOf(text);
  if (value === null) return undefined;
  if (!Number.isFinite(value)) return "Enter a number.";
  if (whole && !Number.isInteger(value)) return "Enter a whole number.";
  if (value < least || (above && value === least) || value > most)
    return `${above ? "More than" : "From"} ${least.toLocaleString()} ${above ? "and at most" : "to"} ${most.toLocaleString()}.`;
  return undefined;
}

function schemaOf(text: string): Record<string, unknown> | null {
  return text.trim() === "" ? null : (JSON.parse(text) as Record<string, unknown>);
}

function schemaProblem(text: string): string | undefined {
  try {
    const schema: unknown = schemaOf(text);
    if (schema === null && text.trim() === "") return undefined;
    if (typeof schema !== "object" || schema === null || Array.isArray(schema))
      return 'A JSON schema is an object: {"type": "object", ...}.';
  } catch (thrown) {
    return `Invalid JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}.`;
  }
  return new TextEncoder().encode(text).length > MAX_SCHEMA_BYTES ? "At most 64 KB." : undefined;
}
