/** What is said of tools, in words. */
import type { AgentToolDetails } from "@/protocol/api";

export const KINDS: Record<AgentToolDetails["kind"], string> = {
  built_in: "Built in, on the server",
  http: "The team's HTTP tool",
  worker: "In a worker",
};

export const EFFECTS: Record<AgentToolDetails["effect"], string> = {
  read: "Only reads",
  idempotent: "Safe to repeat",
  once: "Acts once",
};

export const APPROVALS = {
  tool: "as the tool says",
  ask: "always asks",
  never: "never asks",
} as const;
