/** The arguments of a call in one line. */
import { type JsonNode, printJson, readJson } from "@/components/json/json-text";
import { escapeUnseen } from "@/lib/visible";

const LONGEST = 160;

export function summaryOf(args: string): string {
  if (!args.trim()) return "";
  const reading = readJson(args);
  if ("problem" in reading) return cut(args.slice(0, 4 * LONGEST));
  const { node } = reading;
  if (node.kind !== "object") return cut(wordFor(node));
  const only = node.entries.length === 1 ? node.entries[0] : undefined;
  if (only) return cut(wordFor(only[1]));
  return cut(node.entries.map(([name, value]) => `${name}: ${wordFor(value)}`).join(", "));
}

function wordFor(node: JsonNode): string {
  switch (node.kind) {
    case "string":
      return node.value.slice(0, LONGEST);
    case "object":
      return node.entries.length === 0 ? "{}" : `{${node.entries.length}}`;
    case "array":
      return node.items.length === 0 ? "[]" : `[${node.items.length}]`;
    default:
      return printJson(node);
  }
}

function cut(text: string): string {
  const line = escapeUnseen(text.replace(/\s+/g, " ").trim());
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}
