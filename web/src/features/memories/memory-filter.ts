/** Which memories are looked at, as the address of the page says it. */
import type { MemoryFilter } from "@/api/memory-queries";
import { SCOPE_NAMES, TYPE_NAMES } from "@/components/memory/memory-words";

export interface MemorySearch extends MemoryFilter {
  view?: "suggestions";
}

const LONGEST = 200;

/** Reads an address. What makes no sense in it is left out, since anybody can write one. */
export function readSearch(search: Readonly<Record<string, unknown>>): MemorySearch {
  const type = TYPE_NAMES.find((known) => known === search.type);
  const scope = SCOPE_NAMES.find((known) => known === search.scope);
  const agent = textOf(search.agent);
  const q = textOf(search.q);
  return {
    ...(search.view === "suggestions" ? { view: "suggestions" } : {}),
    ...(agent ? { agent } : {}),
    ...(type ? { type } : {}),
    // What a team's agent remembers is listed by agent.
    ...(scope && (scope !== "agent" || agent) ? { scope } : {}),
    ...(q ? { q } : {}),
  };
}

export const isFiltered = ({ agent, type, scope, q }: MemoryFilter): boolean =>
  Boolean(agent || type || scope || q);

function textOf(value: unknown): string {
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return text.length <= LONGEST ? text.trim() : "";
}
