/** What the form of an MCP server holds, and what the server takes. */
import { emptyHeader, type HeaderRow, headerBodies, headerRows } from "@/components/headers/header-rows";
import { originOf } from "@/lib/origin";
import type { ConnectBody, McpServerBody, McpServerView } from "@/protocol/api";
import { oauthOf } from "./oauth";

export type Remote = McpServerBody["transport"];
export type Auth = "none" | "bearer" | "header" | "oauth";

export interface McpForm {
  name: string;
  url: string;
  transport: Remote;
  auth: Auth;
  /** What becomes of a token that is stored. */
  tokenChoice: "keep" | "replace";
  token: string;
  /** Whose connection calls use: each person's own, or one for the team. */
  oauthScope: "user" | "team";
  /** Of a client that was registered by hand; empty: the server finds or registers its own. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  headers: HeaderRow[];
  timeoutS: string;
  enabled: boolean;
}

export const EMPTY: McpForm = {
  name: "",
  url: "",
  transport: "http",
  auth: "none",
  tokenChoice: "replace",
  token: "",
  oauthScope: "user",
  issuer: "",
  clientId: "",
  clientSecret: "",
  headers: [],
  timeoutS: "",
  enabled: true,
};

export const TRANSPORTS: Record<Remote, { title: string; meaning: string }> = {
  http: { title: "Streamable HTTP", meaning: "What current servers use. The address often ends with /mcp." },
  sse: { title: "SSE", meaning: "For older servers. The address often ends with /sse." },
};

export const AUTHS: Record<Auth, string> = {
  none: "None",
  bearer: "Bearer token",
  header: "Headers",
  oauth: "OAuth: people sign in",
};

const NAME = /^(?=.{1,40}$)[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*$/;
const TOKEN = /^[!-~]+$/;
const LONGEST_TOKEN = 8192;
export const LONGEST_TIMEOUT_S = 120;

export function formOf(server: McpServerView): McpForm {
  const oauth = oauthOf(server);
  return {
    ...EMPTY,
    name: server.name,
    url: server.server_url ?? "",
    transport: server.transport === "sse" ? "sse" : "http",
    auth: authOf(server),
    tokenChoice: server.has_token ? "keep" : "replace",
    oauthScope: oauth?.scope === "team" ? "team" : "user",
    issuer: oauth?.clientId ? (oauth.issuer ?? "") : "",
    clientId: oauth?.clientId ?? "",
    headers: headerRows(server.headers),
    timeoutS: server.timeout_s === null ? "" : String(server.timeout_s),
    enabled: server.enabled,
  };
}

function authOf(server: McpServerView): Auth {
  const { has_token, headers } = server;
  if (oauthOf(server)) return "oauth";
  if (has_token) return "bearer";
  return headers.length > 0 ? "header" : "none";
}

/** The headers to show for a choice: one to fill in, where headers are what was chosen. */
export function headersFor(auth: Auth, headers: HeaderRow[]): HeaderRow[] {
  if (auth === "none" || auth === "oauth") return [];
  return auth === "header" && headers.length === 0 ? [{ ...emptyHeader(), secret: true }] : headers;
}

interface OAuthClient {
  scope: McpForm["oauthScope"];
  issuer: string | null;
  client_id: string | null;
  client_secret?: string;
}

type SavedBody = McpServerBody & { auth: Auth; oauth?: OAuthClient };

/** A server as the API takes it: a stored token that is kept is left out, null removes it. */
export function bodyOf(form: McpForm): SavedBody {
  const { name, enabled, timeoutS } = form;
  return {
    ...placeOf(form),
    name: name.trim(),
    enabled,
    timeout_s: timeoutS.trim() ? Number(timeoutS) : null,
    ...(form.auth === "bearer" && form.tokenChoice === "keep" ? {} : { bearer_token: tokenOf(form) }),
    auth: form.auth,
    ...(form.auth === "oauth" ? { oauth: clientOf(form) } : {}),
  };
}

/** A client secret that is not entered is kept, for the same client at the same issuer. */
function clientOf({ oauthScope, issuer, clientId, clientSecret }: McpForm): OAuthClient {
  return {
    scope: oauthScope,
    issuer: issuer.trim() || null,
    client_id: clientId.trim() || null,
    ...(clientSecret.trim() ? { client_secret: clientSecret.trim() } : {}),
  };
}

/** What is tested before anything is saved. */
export function connectionOf(form: McpForm): ConnectBody {
  return { ...placeOf(form), bearer_token: tokenOf(form) };
}

function placeOf({ url, transport, headers }: McpForm): Omit<ConnectBody, "bearer_token"> {
  return { server_url: url.trim(), transport, headers: headerBodies(headers) };
}

function tokenOf({ auth, token, tokenChoice }: McpForm): string | null {
  return auth === "bearer" && tokenChoice === "replace" ? token.trim() || null : null;
}

/** Whether a test needs secrets that only the server has, so that what is stored must be tested. */
export function usesStored(form: McpForm, stored: McpServerView | undefined): boolean {
  if (!stored) return false;
  if (form.auth === "oauth") return true;
  const token = form.auth === "bearer" && form.tokenChoice === "keep";
  return token || form.headers.some(({ secret, value }) => secret && !value);
}

/** Whether the form connects as the stored server does. */
export function connectsAlike(form: McpForm, stored: McpServerView): boolean {
  return JSON.stringify(pinned(form)) === JSON.stringify(pinned(formOf(stored)));
}

function pinned({ url, transport, auth, tokenChoice, token, headers }: McpForm): unknown {
  return [url.trim(), transport, auth, auth === "bearer" && tokenChoice === "replace" ? token : "", headers];
}

export const nameProblem = (name: string): string | undefined => {
  if (!name.trim()) return "Enter a name.";
  return NAME.test(name.trim())
    ? undefined
    : "Begin with a letter; then letters and digits, with single _ or - between. At most 40 characters.";
};

export const urlProblem = (url: string): string | undefined => {
  const plain = url.trim();
  if (!plain) return "Enter the server's URL.";
  if (!/^https?:\/\//i.test(plain) || !URL.canParse(plain))
    return "Enter a URL such as https://mcp.example.com/mcp.";
  return plain.includes("#") ? "Remove everything after #: it is never sent." : undefined;
};

export function tokenProblem(form: McpForm, stored: McpServerView | undefined): string | undefined {
  if (form.auth !== "bearer") return undefined;
  if (form.tokenChoice === "keep")
    return originOf(form.url.trim()) === originOf(stored?.server_url ?? "")
      ? undefined
      : "The host changed: enter the token again. It is only sent to the host it was entered for.";
  const token = form.token.trim();
  if (!token) return "Enter the token.";
  if (!TOKEN.test(token)) return "A token cannot contain spaces or non-ASCII characters.";
  return token.length > LONGEST_TOKEN ? `At most ${LONGEST_TOKEN} characters.` : undefined;
}

/** A secret goes only to the issuer it was registered at. */
export function issuerProblem({ auth, issuer, clientId, clientSecret }: McpForm): string | undefined {
  if (auth !== "oauth") return undefined;
  if (issuer.trim()) return urlProblem(issuer);
  return clientId.trim() && clientSecret.trim() ? "Enter the issuer that the secret is for." : undefined;
}

export const timeoutProblem = (text: string): string | undefined => {
  if (!text.trim()) return undefined;
  const seconds = Number(text);
  return seconds > 0 && seconds <= LONGEST_TIMEOUT_S
    ? undefined
    : `Enter a number of seconds, at most ${LONGEST_TIMEOUT_S}.`;
};
