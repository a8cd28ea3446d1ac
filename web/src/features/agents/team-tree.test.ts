import { expect, test } from "vitest";
import type { AgentView, HandoffBody } from "@/protocol/api";
import { NEW_HANDOFF } from "./agent-values";
import { type TeamNode, teamOf } from "./team-tree";

const to = (agent: string, more: Partial<HandoffBody> = {}): HandoffBody => ({
  ...NEW_HANDOFF,
  agent,
  ...more,
});

const agent = (name: string, handoffs: HandoffBody[] = [], status = "active") =>
  ({ id: `agt_${name}`, name, handoffs, status }) as AgentView;

const drawn = (nodes: readonly TeamNode[]): string =>
  nodes
    .map(({ name, state, inner }) => `${name}${state === "known" ? "" : ` ${state}`}(${drawn(inner)})`)
    .join(" ");

test("the team is what handoffs lead to, each agent once, also where they lead back", () => {
  const agents = [
    agent("desk", [to("agt_gone")]),
    agent("billing", [to("desk"), to("agt_clerk", { mode: "tool" })]),
    agent("clerk", [to("agt_old")]),
    agent("old", [to("agt_billing")], "inactive"),
  ];
  const desk = {
    id: "agt_desk",
    name: "front desk",
    handoffs: [to("agt_billing"), to("agt_clerk"), to("agt_gone")],
  };
  expect(drawn(teamOf(desk, agents))).toBe(
    "billing(front desk repeated() clerk repeated()) clerk(old inactive()) agt_gone missing()",
  );
  expect(drawn(teamOf({ id: undefined, name: "", handoffs: [to("agt_old")] }, agents))).toBe(
    "old inactive()",
  );
});

test("a row whose agent is not chosen yet is not a deleted agent", () => {
  const [node] = teamOf({ id: undefined, name: "", handoffs: [NEW_HANDOFF] }, [agent("desk")]);
  expect(node).toMatchObject({ name: "", state: "known" });
});

test("a team that is too large ends where a run's does", () => {
  const chain = Array.from({ length: 40 }, (_, at) => agent(`a${at}`, [to(`a${at + 1}`)]));
  let nodes = teamOf({ id: "agt_a0", name: "a0", handoffs: [to("agt_a1")] }, chain);
  const states: string[] = [];
  for (; nodes[0]; nodes = nodes[0].inner) states.push(nodes[0].state);
  expect(states.length).toBe(32);
  expect(states.at(-1)).toBe("beyond");
});
