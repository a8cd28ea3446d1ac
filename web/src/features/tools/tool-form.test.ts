import { expect, test } from "vitest";
import { Problem } from "@/api/problem";
import type { AgentToolDetails } from "@/protocol/api";
import { objectIn } from "./json";
import { schemaProblem } from "./parameter-table";
import { bodyOf, copyOf, EMPTY, EXAMPLE, formOf, nameProblem, placesOf, timeoutProblem } from "./tool-form";
import { destinations, urlProblem } from "./url-template";

const tool: AgentToolDetails = {
  id: "tool_1",
  name: "find_order",
  kind: "http",
  place: "gateway",
  description: "Looks an order up.",
  parameters: { type: "object", properties: { number: { type: "string" } }, required: ["number"] },
  effect: "read",
  approval: "ask",
  timeout_s: 20,
  read_only: false,
  agents: [],
  unchecked_patterns: [],
  method: "GET",
  url: "https://shop.example.com/orders/{number}",
  headers: [{ name: "Authorization", secret: true, value: null }],
  result_path: "order",
  created_at: 1,
  updated_at: 2,
  server: null,
};

test("a tool that went through the form is the same tool, its secret kept", () => {
  expect(bodyOf(formOf(tool))).toEqual({
    name: "find_order",
    description: "Looks an order up.",
    method: "GET",
    url: "https://shop.example.com/orders/{number}",
    headers: [{ name: "Authorization", secret: true }],
    parameters: tool.parameters,
    result_path: "order",
    timeout_s: 20,
    effect: "read",
    approval: "ask",
  });
});

test("what is left empty is null", () => {
  expect(bodyOf(EMPTY)).toMatchObject({ result_path: null, timeout_s: null });
});

test("the example can be saved as it is", () => {
  expect(nameProblem(EXAMPLE.name, [])).toBeUndefined();
  expect(urlProblem(EXAMPLE.url)).toBeUndefined();
  expect(schemaProblem(EXAMPLE.parameters)).toBeUndefined();
  const found = destinations(EXAMPLE.url, EXAMPLE.method, objectIn(EXAMPLE.parameters));
  expect(found.filter(({ problem }) => problem)).toEqual([]);
});

test("a copy gets a name that is free and short enough", () => {
  expect(copyOf(tool, ["find_order"]).name).toBe("find_order_copy");
  expect(copyOf(tool, ["find_order", "find_order_copy"]).name).toBe("find_order_copy_2");
  expect(nameProblem(copyOf({ ...tool, name: "x".repeat(64) }, []).name, [])).toBeUndefined();
});

test.each(["", "1st", "find order", "é", "x".repeat(65), "find_order"])("%j cannot be a name", (name) => {
  expect(nameProblem(name, ["find_order"])).toBeTruthy();
});

test.each(["0", "-1", "121", "soon", "NaN"])("%j is no time-out", (text) => {
  expect(timeoutProblem(text)).toBeTruthy();
});

test.each([
  [new Problem("tool_exists", "There is already a tool a.", 409), ["name"]],
  [new Problem("egress_refused", "This address is not called.", 422), ["url"]],
  [new Problem("invalid_schema", "This is no valid JSON schema.", 422), ["parameters"]],
  [new Problem("invalid_tool", "Tool a: its URL has a fragment.", 422), ["url"]],
  [new Problem("invalid_tool", "Tool a: it has a header twice.", 422), ["headers"]],
  [new Problem("secret_required", "Enter it.", 422, { headers: ["Authorization"] }), ["headers.0.value"]],
  [
    new Problem("invalid_body", "The body is wrong.", 422, {
      fields: [
        { path: "timeout_s", problem: "too large" },
        { path: "headers.0.name", problem: "too long" },
        { path: "parameters.properties", problem: "wrong" },
      ],
    }),
    ["timeoutS", "headers.0.name", "parameters"],
  ],
  [new Problem("too_many_tools", "There are too many.", 409), []],
])("the refusal $code is told where it belongs", (problem, places) => {
  expect(placesOf(problem, formOf(tool)).map(([place]) => place)).toEqual(places);
});
