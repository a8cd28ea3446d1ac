/** The words for what a memory is, whose it is, and how much it counts. */
import type { MemoryScope, MemoryType } from "@/api/memory-queries";

export const TYPES: Record<MemoryType, { word: string; hint: string }> = {
  fact: { word: "Fact", hint: "Something that is so, such as a name or an allergy." },
  preference: { word: "Preference", hint: "How a person likes things." },
  episode: { word: "Episode", hint: "Something that happened." },
  instruction: { word: "Instruction", hint: "What the agent should do from now on." },
};

export const SCOPES: Record<MemoryScope, { word: string; hint: string }> = {
  user_agent: { word: "You, with this agent", hint: "Only your chats with this agent use it." },
  user: { word: "You, with every agent", hint: "Your chats with every agent use it." },
  agent: { word: "The whole team", hint: "Everyone's chats with this agent use it." },
};

export const TYPE_NAMES = Object.keys(TYPES) as MemoryType[];
export const SCOPE_NAMES = Object.keys(SCOPES) as MemoryScope[];
export const MAX_MEMORY_CHARS = 4_000;

/** "Low (20 %)": importance is from 0 to 1. */
export function importanceWords(importance: number): string {
  const level = importance < 0.35 ? "Low" : importance < 0.7 ? "Medium" : "High";
  return `${level} (${Math.round(importance * 100)} %)`;
}

/** Whose a memory is, with the name of its agent. */
export function scopeWords(scope: MemoryScope, agent: string): string {
  if (scope === "user") return "every agent";
  return scope === "agent" ? `${agent}, whole team` : agent;
}
