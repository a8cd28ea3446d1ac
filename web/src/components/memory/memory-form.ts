/** A memory as its form has it: read from a view, checked, made a body. */
import type { MemoryScope, MemoryType } from "@/api/memory-queries";
import { isBlank } from "@/lib/blank";
import type { MemoryBody, MemoryChangeBody, MemoryView, SuggestionView } from "@/protocol/api";
import { MAX_MEMORY_CHARS } from "./memory-words";

export interface MemoryValues {
  agent_id: string;
  content: string;
  memory_type: MemoryType;
  /** From 0 to 100. */
  importance: number;
  scope: MemoryScope;
  /** A day, as a field of dates has it: local, without a zone; empty: today. */
  observed_on: string;
}

export const NEW_MEMORY: MemoryValues = {
  agent_id: "",
  content: "",
  memory_type: "fact",
  importance: 50,
  scope: "user_agent",
  observed_on: "",
};

export function valuesOf(memory: MemoryView | SuggestionView): MemoryValues {
  return {
    agent_id: memory.agent_id ?? "",
    content: memory.content,
    memory_type: memory.memory_type,
    importance: Math.round(memory.importance * 100),
    scope: memory.scope,
    observed_on: dayOf(memory.observed_at),
  };
}

export function contentProblem(content: string): string | undefined {
  if (isBlank(content)) return "Enter what to remember.";
  const count = [...content].length;
  return count > MAX_MEMORY_CHARS
    ? `At most ${MAX_MEMORY_CHARS.toLocaleString()} characters, not ${count.toLocaleString()}.`
    : undefined;
}

export function bodyOf(values: MemoryValues): MemoryBody {
  return {
    content: values.content.trim(),
    memory_type: values.memory_type,
    importance: values.importance / 100,
    scope: values.scope,
    ...(values.observed_on ? { observed_at: startOfDay(values.observed_on) } : {}),
  };
}

/** What differs from before; null if nothing does. */
export function changeOf(before: MemoryValues, after: MemoryValues): MemoryChangeBody | null {
  const change: MemoryChangeBody = {};
  const { content, memory_type, importance, scope, observed_at } = bodyOf(after);
  if (content !== before.content) change.content = content;
  if (memory_type !== before.memory_type) change.memory_type = memory_type;
  if (after.importance !== before.importance) change.importance = importance;
  if (scope !== before.scope) change.scope = scope;
  if (observed_at && after.observed_on !== before.observed_on) change.observed_at = observed_at;
  return Object.keys(change).length > 0 ? change : null;
}

function dayOf(ms: number): string {
  const at = new Date(ms);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

function startOfDay(day: string): number {
  return new Date(`${day}T00:00`).getTime();
}
