/** What programs are told to send is what the server takes, with its own address. */
import { expect, test } from "vitest";
import { clientExamples, requestExamples, toolNameOf } from "./code-examples";

const AGENT = { id: "agt_01abcdef", name: "Tea shop", created_at: 2 };

test("every example has the server's address, and the requests the agent's id", () => {
  const requests = requestExamples("https://agio.example:8443", AGENT);
  for (const { code } of requests) {
    expect(code).toContain("https://agio.example:8443/api/agent/run");
    expect(code).toContain("agt_01abcdef");
  }
  for (const { code, id } of clientExamples("https://agio.example:8443")) {
    expect(code).toContain("https://agio.example:8443/mcp");
    if (id !== "codex") expect(() => JSON.parse(code)).not.toThrow();
  }
});

test("an agent's tool has the name that the server gives it", () => {
  const older = { id: "agt_older", name: "Tea_shop", created_at: 1 };
  const oldest = { id: "agt_z", name: "Café Ünder — 茶", created_at: 0 };
  const all = [AGENT, older, oldest];
  expect(all.map((agent) => toolNameOf(agent, all))).toEqual(["Tea_shop-abcdef", "Tea_shop", "Cafe_Under"]);
  expect(toolNameOf({ ...AGENT, name: "茶" }, all)).toBe("agent");
});
