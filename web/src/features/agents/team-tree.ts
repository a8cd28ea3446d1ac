/** The agents that handoffs lead to from one agent, as a tree: those that a run of it takes along. */
import type { AgentView, HandoffBody } from "@/protocol/api";

/** As many agents as a run's team may have, the first one included. */
const MAX_TEAM = 32;

export interface TeamNode {
  /** Its id, or its name for an agent in code; what the handoff says if there is no such agent. */
  agent: string;
  name: string;
  handoff: HandoffBody;
  /** missing: deleted, or never there. beyond: the team is full. repeated: its own agents are shown elsewhere. */
  state: "known" | "repeated" | "inactive" | "missing" | "beyond";
  inner: TeamNode[];
}

interface First {
  /** Left out for a new agent. */
  id: string | undefined;
  name: string;
  handoffs: readonly HandoffBody[];
}

/** Finds the team as a run does: breadth first, each agent once. */
export function teamOf(first: First, agents: readonly AgentView[]): TeamNode[] {
  const known = new Set<string>([first.id ?? ""]);
  const top: TeamNode[] = [];
  const waiting: { handoffs: readonly HandoffBody[]; into: TeamNode[] }[] = [
    { handoffs: first.handoffs, into: top },
  ];
  for (const { handoffs, into } of waiting) {
    for (const handoff of handoffs) {
      const agent = agents.find(({ id }) => id === handoff.agent) ?? agentNamed(handoff.agent, agents);
      const node: TeamNode = {
        agent: agent?.id ?? handoff.agent,
        name: agent?.id === first.id && agent ? first.name : (agent?.name ?? handoff.agent),
        handoff,
        state: "known",
        inner: [],
      };
      into.push(node);
      if (!agent)
        node.state = handoff.agent ? "missing" : "known"; // empty: not chosen yet
      else if (known.has(agent.id))
        node.state = agent.id === first.id || agent.handoffs.length > 0 ? "repeated" : "known";
      else if (agent.status !== "active") node.state = "inactive";
      else if (known.size >= MAX_TEAM) node.state = "beyond";
      else {
        known.add(agent.id);
        waiting.push({ handoffs: agent.handoffs, into: node.inner });
      }
    }
  }
  return top;
}

function agentNamed(name: string, agents: readonly AgentView[]): AgentView | undefined {
  return agents.find((agent) => agent.name === name);
}
