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
    meaning: "It looks something up. After a crash an unfinished call is simply made again.",
  },
  idempotent: {
    title: "Safe to repeat",
    meaning:
      "Doing it twice with the same key is the same as once. An unfinished call is made again, with the same Idempotency-Key.",
  },
  once: {
    title: "Done once",
    meaning:
      "Never repeated by itself: for sending, paying, deleting. After a crash the model is told that nobody knows whether it took effect.",
  },
};

export const APPROVALS: Record<Approval, Words> = {
  never: { title: "Runs by itself", meaning: "The agent calls it without asking anybody." },
  ask: { title: "Asks first", meaning: "A person sees each call and decides before it is made." },
};

export const KINDS: Record<Kind, Words & { one: string }> = {
  http: {
    title: "HTTP tools of your team",
    meaning: "Requests to a web service that the model fills in.",
    one: "An HTTP tool of your team",
  },
  builtin: { title: "Built-in", meaning: "They come with the server.", one: "A built-in tool" },
  module: {
    title: "From your code",
    meaning: "Python functions of the workers that are connected now.",
    one: "A tool from your code",
  },
  mcp: { title: "From MCP servers", meaning: "Tools of an MCP server.", one: "A tool of an MCP server" },
};

const FAILURES: Record<string, string> = {
  bad_arguments: "The arguments do not fit the parameters",
  tool_failed: "The tool failed",
  tool_timeout: "It took too long",
  unserialisable_result: "It ran, but its result cannot be written as JSON",
  result_too_large: "It ran, but its result is too large",
  upstream_error: "The service answered with an error",
  upstream_invalid: "The answer is not as expected",
  upstream_unreachable: "The service cannot be reached",
  upstream_timeout: "The service took too long",
  upstream_too_large: "The answer is too large",
  too_many_redirects: "The service redirects too often",
  egress_refused: "This address may not be called",
  secret_unreadable: "A secret header cannot be read",
  unknown: "It is unknown whether it took effect",
  cancelled: "It was cancelled",
};

/** Why a call failed, in a few words. */
export const failureWords = (code: string): string => FAILURES[code] ?? "The call failed";
