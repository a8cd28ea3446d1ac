import type { AgentView } from "@/protocol/api";

export function modelOf(agent: AgentView): string {
  return `${agent.model_provider}:${agent.model_name}`;
}
