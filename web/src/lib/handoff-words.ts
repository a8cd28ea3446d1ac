/** What the server's words about handoffs mean, for people. */
import type { HandoffBody } from "@/protocol/api";

export type HandoffFilter = HandoffBody["filter"];

/** What the next agent sees. */
export const FILTERS: Record<HandoffFilter, string> = {
  all: "the whole conversation",
  no_tools: "no tool calls or results",
  last_message: "only the newest message",
};

export const MODES: Record<HandoffBody["mode"], { title: string; verb: string }> = {
  handoff: { title: "Hand over", verb: "hands over to" },
  tool: { title: "Ask like a tool", verb: "asks" },
};
