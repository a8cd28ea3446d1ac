/** What to try with the demo model. */
import type { AgentView } from "@/protocol/api";

const SUGGESTIONS = [
  { text: "What is 12 * (3 + 4)?", about: "calls a tool", tool: "calculator" },
  { text: "What time is it in Europe/Vienna?", about: "reads the clock", tool: "clock" },
  { text: "Send a postcard to Ada", about: "asks for approval", tool: "send_postcard" },
  { text: "Think about it", about: "shows its reasoning" },
];

/** Those whose tool the agent has. */
export const suggestionsFor = ({ tools }: Pick<AgentView, "tools">) =>
  SUGGESTIONS.filter(({ tool }) => !tool || tools.some(({ name }) => name === tool));
