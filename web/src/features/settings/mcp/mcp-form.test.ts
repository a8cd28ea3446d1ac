/** What the form of an MCP server sends: secrets only when they are entered, and only for their host. */
import { expect, test } from "vitest";
import type { McpServerView } from "@/protocol/api";
import {
  bodyOf,
  connectionOf,
  connectsAlike,
  EMPTY,
  formOf,
  headersFor,
  issuerProblem,
  tokenProblem,
  usesStored,
} from "./mcp-form";

const STORED = {
  id: "mcp_1",
  name: "github",
  source: "team",
  transport: "http",
  server_url: "https://mcp.example.com/mcp",
  headers: [{ name: "X-Team", value: "blue", secret: false }],
  has_token: true,
  enabled: true,
  timeout_s: 5,
  tools_on: 0,
  tools_changed: 0,
  created_at: 1,
  updated_at: 1,
} as McpServerView;

test("a stored token is kept without being sent, replaced, and removed with another authentication", () => {
  const form = formOf(STORED);
  expect(bodyOf(form)).toEqual({
    name: "github",
    server_url: "https://mcp.example.com/mcp",
    transport: "http",
    headers: [{ name: "X-Team", value: "blue", secret: false }],
    enabled: true,
    timeout_s: 5,
    auth: "bearer",
  });
  expect(bodyOf({ ...form, tokenChoice: "replace", token: " tok " }).bearer_token).toBe("tok");
  expect(bodyOf({ ...form, auth: "header" }).bearer_token).toBeNull();
  expect(headersFor("none", form.headers)).toEqual([]);
  expect(headersFor("header", [])).toMatchObject([{ secret: true }]);
});

test("of OAuth the scope and the client are sent, and a secret only when it is entered", () => {
  const oauth = { scope: "team", connected: true, issuer: "https://id.example", client_id: "agio" };
  const form = formOf({ ...STORED, has_token: false, oauth } as McpServerView);
  const client = { scope: "team", issuer: "https://id.example", client_id: "agio" };
  expect(bodyOf(form)).toMatchObject({ auth: "oauth", oauth: client, bearer_token: null });
  expect(bodyOf({ ...form, clientSecret: "s" })).toMatchObject({ oauth: { ...client, client_secret: "s" } });
  expect(issuerProblem({ ...form, issuer: "", clientSecret: "s" })).toMatch("Enter the issuer");
});

test("a token is for the host it was entered for", () => {
  const form = formOf(STORED);
  expect(tokenProblem({ ...form, url: "https://mcp.example.com/other" }, STORED)).toBeUndefined();
  expect(tokenProblem({ ...form, url: "https://evil.example/mcp" }, STORED)).toMatch("host changed");
  expect(tokenProblem({ ...EMPTY, auth: "bearer" }, undefined)).toBe("Enter the token.");
});

test("what is stored is tested where the form lacks the secrets", () => {
  const form = formOf(STORED);
  expect([usesStored(form, STORED), connectsAlike(form, STORED)]).toEqual([true, true]);
  expect(connectsAlike({ ...form, transport: "sse" }, STORED)).toBe(false);
  const replaced = { ...form, tokenChoice: "replace" as const, token: "tok" };
  expect(usesStored(replaced, STORED)).toBe(false);
  expect(connectionOf(replaced)).toMatchObject({ bearer_token: "tok", transport: "http" });
});
