/** What the server's words about MCP servers and their tools mean, for people. */
import type { Tone } from "@/components/ui/badge";
import type { McpServerView, McpToolView } from "@/protocol/api";

export const TRANSPORT_NAMES: Record<McpServerView["transport"], string> = {
  http: "Streamable HTTP",
  sse: "SSE",
  stdio: "stdio",
};

export const STATES: Record<McpToolView["state"], { title: string; tone: Tone }> = {
  new: { title: "New", tone: "accent" },
  on: { title: "On", tone: "good" },
  off: { title: "Off", tone: "neutral" },
  changed: { title: "Changed: held back", tone: "warn" },
  gone: { title: "No longer offered", tone: "bad" },
};

/** "1 tool", "3 tools". */
export const countOf = (count: number, what = "tool"): string => `${count} ${what}${count === 1 ? "" : "s"}`;

/** By name alone: a tool keeps its place when its state changes. */
export function inOrder(tools: readonly McpToolView[]): McpToolView[] {
  return [...tools].sort((one, other) => one.name.localeCompare(other.name));
}

/** What a person reads of a tool: what agents have, else what is offered. */
export const shapeOf = ({ accepted, offered }: McpToolView): McpToolView["offered"] => accepted ?? offered;
