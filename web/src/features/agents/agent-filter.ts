/** Which agents of the list are shown. */
import type { AgentView } from "@/protocol/api";

export interface AgentFilter {
  words: string;
  /** Empty: any; so is the provider. */
  status: string;
  provider: string;
}

export const ALL_AGENTS: AgentFilter = { words: "", status: "", provider: "" };

/** The agents that have every word in their name, description or model, by name. */
export function filterAgents(agents: readonly AgentView[], filter: AgentFilter): AgentView[] {
  const words = filter.words.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const found = agents.filter((agent) => {
    const text = [agent.name, agent.description, agent.model_provider, agent.model_name]
      .join("\n")
      .toLocaleLowerCase();
    return (
      (!filter.status || agent.status === filter.status) &&
      (!filter.provider || agent.model_provider === filter.provider) &&
      words.every((word) => text.includes(word))
    );
  });
  return found.sort((one, other) => one.name.localeCompare(other.name));
}
