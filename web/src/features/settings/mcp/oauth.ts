/** OAuth of an MCP server, where the API has it: whether it is connected, and how to connect and disconnect. */
import { refusalOf } from "@/api/client";
import { isObject } from "@/lib/json";
import type { McpServerView } from "@/protocol/api";

export interface OAuthState {
  /** Whose connection it is, such as "user" or "team". */
  scope: string;
  connected: boolean;
  issuer: string | null;
  expiresAt: number | null;
  error: string | null;
  /** The client that was entered; null: the server finds or registers its own. */
  clientId: string | null;
}

/** Null for a server without OAuth. */
export function oauthOf(server: McpServerView): OAuthState | null {
  const found: unknown = "oauth" in server ? server.oauth : null;
  if (!isObject(found)) return null;
  const text = (value: unknown) => (typeof value === "string" && value ? value : null);
  return {
    scope: text(found.scope) ?? "team",
    connected: found.connected === true,
    issuer: text(found.issuer),
    expiresAt: typeof found.expires_at === "number" ? found.expires_at : null,
    error: text(found.error),
    clientId: text(found.client_id),
  };
}

/** Asks for the address at which a person allows the connection. Throws a `Problem`. */
export async function connect(serverId: string): Promise<string> {
  const answer = await request("POST", `/api/mcp-servers/${serverId}/connect`);
  const body: unknown = await answer.json();
  const address = isObject(body) ? body.authorization_url : null;
  if (typeof address !== "string" || !/^https?:\/\//i.test(address))
    throw new Error("The server gave no address to connect at.");
  return address;
}

export async function disconnect(serverId: string): Promise<void> {
  await request("DELETE", `/api/mcp-servers/${serverId}/connection`);
}

async function request(method: string, path: string): Promise<Response> {
  const answer = await fetch(path, { method });
  if (!answer.ok) throw await refusalOf(answer);
  return answer;
}
