import { expect, test } from "vitest";
import type { McpServerView } from "@/protocol/api";
import { oauthOf } from "./oauth";

test("a server without OAuth has no connection; of one with it, what the API says is read", () => {
  const server = { id: "mcp_1" } as McpServerView;
  expect(oauthOf(server)).toBeNull();
  const said = { scope: "user", connected: true, issuer: "https://id.example", expires_at: 5, error: null };
  expect(oauthOf({ ...server, oauth: said } as McpServerView)).toEqual({
    scope: "user",
    connected: true,
    issuer: "https://id.example",
    expiresAt: 5,
    error: null,
    clientId: null,
  });
});
