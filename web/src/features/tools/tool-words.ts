/** Who uses a tool, in words. */

/** "Used by 2 agents". */
export function usedBy(count: number): string {
  if (count === 0) return "Not used yet";
  return `Used by ${count} ${count === 1 ? "agent" : "agents"}`;
}

/** Names in a sentence: "a", "a and b", "a, b and 3 more". */
export function listed(names: string[], shown = 3): string {
  if (names.length <= 1) return names.join("");
  if (names.length > shown) return `${names.slice(0, shown).join(", ")} and ${names.length - shown} more`;
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
