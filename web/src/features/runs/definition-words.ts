/** The fields of an agent's definition in words, to compare two versions of it. */
import { FILTERS } from "@/lib/handoff-words";
import type { Handoff, PinnedAgent } from "@/protocol/api";

const NAMES: Partial<Record<keyof PinnedAgent, string>> = {
  model_provider: "Provider",
  model_name: "Model",
  max_steps: "Step limit",
  output_schema: "Answer schema",
  handoffs: "Other agents",
  search_conversations: "Search past conversations",
};
const APPROVALS = { ask: "always asks", never: "never asks" } as const;

export interface Change {
  name: string;
  before: string;
  after: string;
}

/** What differs between two versions, field by field. */
export function changesOf(changed: readonly string[], before: PinnedAgent, after: PinnedAgent): Change[] {
  return changed.map((field) => {
    const key = field as keyof PinnedAgent;
    return { name: NAMES[key] ?? plainName(field), before: wordsOf(key, before), after: wordsOf(key, after) };
  });
}

function plainName(field: string): string {
  const words = field.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function wordsOf(key: keyof PinnedAgent, agent: PinnedAgent): string {
  if (key === "tools") return agent.tools.map(toolWords).join("\n") || "None";
  if (key === "handoffs") return agent.handoffs?.map(handoffWords).join("\n") || "None";
  const value = agent[key];
  if (value === null || value === "") return "Not set";
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

function handoffWords({ agent, mode, description, filter, tool }: Handoff): string {
  const sees = mode === "handoff" ? `, which sees ${FILTERS[filter]}` : "";
  const details = [tool && `Tool: ${tool}`, description].filter(Boolean).map((line) => `\n  ${line}`);
  return `${mode === "handoff" ? "Hands over to" : "Asks"} ${agent}${sees}${details.join("")}`;
}

function toolWords({ name, approval, http }: PinnedAgent["tools"][number]): string {
  const first = approval ? `${name} (${APPROVALS[approval]})` : name;
  return http ? `${first}\n${JSON.stringify(http, null, 2)}` : first;
}
