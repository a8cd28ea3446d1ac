import { expect, test } from "vitest";
import type { McpToolView } from "@/protocol/api";
import { inOrder } from "./mcp-words";

test("a tool keeps its place when it is enabled", () => {
  const tools = ["sum", "echo", "find"].map((name) => ({ name, state: "new" }) as McpToolView);
  const names = (all: McpToolView[]) => inOrder(all).map(({ name }) => name);
  expect(names(tools)).toEqual(["echo", "find", "sum"]);
  for (const state of ["on", "off", "changed", "gone"] as const)
    expect(names(tools.map((tool) => (tool.name === "find" ? { ...tool, state } : tool)))).toEqual([
      "echo",
      "find",
      "sum",
    ]);
});
