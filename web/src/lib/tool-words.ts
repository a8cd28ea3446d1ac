/** What the server's words about tools mean, for people. */
import type { AgentToolDetails } from "@/protocol/api";

export type Effect = AgentToolDetails["effect"];
export type Approval = AgentToolDetails["approval"];
export type Kind = AgentToolDetails["kind"];

interface Words {
  title: string;
  meaning: string;
}

export const EFFECTS: Record<Effect, Words> = {
  read: {
    title: "Only reads",
    meaning: "Looks something up. After a crash, an unfinished call is repeated.",
  },
  idempotent: {
    title: "Safe to repeat",
    meaning:
      "Repeating a call with the same key has no further effect. After a crash, an unfinished call is repeated with the same Idempotency-Key.",
  },
  once: {
    title: "Runs at most once",
    meaning:
      "Never repeated automatically: for sending, paying, deleting. After a crash, the model learns that the outcome is unknown.",
  },
};

export const APPROVALS: Record<Approval, Words> = {
  never: { title: "Runs without approval", meaning: "The agent calls it without asking." },
  ask: { title: "Needs approval", meaning: "A person reviews each call before it runs." },
};

export const KINDS: Record<Kind, Words & { one: string }> = {
  http: {
    title: "HTTP tools of your team",
    meaning: "Requests to a web service, with values supplied by the model.",
    one: "An HTTP tool of your team",
  },
  builtin: { title: "Built-in", meaning: "Included with the server.", one: "A built-in tool" },
  module: {
    title: "From your code",
    meaning: "Python functions of connected workers.",
    one: "A tool from your code",
  },
  mcp: { title: "From MCP servers", meaning: "Tools of an MCP server.", one: "A tool of an MCP server" },
};

const FAILURES: Record<string, string> = {
  bad_arguments: "The arguments do not match the parameters",
  tool_failed: "The tool failed",
  tool_timeout: "The tool timed out",
  unserialisable_result: "It ran, but its result is not valid JSON",
  result_too_large: "It ran, but its result is too large",
  upstream_error: "The service answered with an error",
  upstream_invalid: "Unexpected response",
  upstream_unreachable: "The service cannot be reached",
  upstream_timeout: "The service timed out",
  upstream_too_large: "The answer is too large",
  too_many_redirects: "The service redirects too often",
  egress_refused: "This address is blocked",
  secret_unreadable: "A secret header cannot be read",
  mcp_tool_changed: "Its server changed this tool",
  mcp_not_connected: "Not connected",
  mcp_unauthorized: "Its server refuses the credentials",
  mcp_server_off: "Its server is switched off",
  mcp_error: "Its server refuses the call",
  unknown: "It is unknown whether it took effect",
  cancelled: "It was cancelled",
};

/** Why a call failed, in a few words. */
export const failureWords = (code: string): string => FAILURES[code] ?? "The call failed";
