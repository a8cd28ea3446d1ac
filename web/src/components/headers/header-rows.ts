/** The headers of a tool or server as rows of a form. The value of a stored secret is never here: it is kept or replaced. */
import { originOf } from "@/lib/origin";
import type { HeaderBody, HeaderView } from "@/protocol/api";

export interface HeaderRow {
  name: string;
  value: string;
  secret: boolean;
  /** A new value is being entered for a secret that is stored. */
  replacing: boolean;
}

/** What is stored: which headers are secret, and for which host. */
export interface StoredHeaders {
  url: string;
  headers: HeaderView[];
}

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const PRINTABLE = /^[\x20-\x7e]*$/;
const LONGEST = 8192;
const OURS = new Set([
  ...["host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"],
  ...["expect", "accept-encoding", "proxy-authorization", "proxy-connection"],
]);

export const emptyHeader = (): HeaderRow => ({ name: "", value: "", secret: false, replacing: false });

export function headerRows(headers: HeaderView[]): HeaderRow[] {
  return headers.map(({ name, value, secret }) => ({
    name,
    value: value ?? "",
    secret: secret ?? false,
    replacing: false,
  }));
}

export function headerBodies(rows: HeaderRow[]): HeaderBody[] {
  return rows.map(({ name, value, secret }) =>
    secret ? { name, secret, ...(value ? { value } : {}) } : { name, secret, value },
  );
}

/** Whether the server has this secret, for this name and this host. */
export function isStored(row: HeaderRow, url: string, stored?: StoredHeaders): boolean {
  return (
    row.secret &&
    stored !== undefined &&
    originOf(url) === originOf(stored.url) &&
    stored.headers.some((header) => header.secret && header.name.toLowerCase() === row.name.toLowerCase())
  );
}

export function headerNameProblem(name: string, rows: HeaderRow[]): string | undefined {
  if (!name) return "Enter a header name.";
  if (!TOKEN.test(name)) return "Not a valid header name.";
  if (OURS.has(name.toLowerCase())) return `${name} is set by the server.`;
  if (rows.filter((row) => row.name.toLowerCase() === name.toLowerCase()).length > 1)
    return `${name} is already used.`;
  return undefined;
}

export function headerValueProblem(row: HeaderRow, url: string, stored?: StoredHeaders): string | undefined {
  if (!row.value) {
    if (!row.secret || isStored(row, url, stored)) return undefined;
    const moved = stored?.headers.some((header) => header.secret && header.name === row.name) ?? false;
    return moved ? "Enter the secret again: the host changed." : "Enter the secret.";
  }
  if (row.value !== row.value.trim()) return "Remove leading and trailing spaces.";
  if (!PRINTABLE.test(row.value)) return "Use printable ASCII characters only.";
  return row.value.length > LONGEST ? `At most ${LONGEST} characters.` : undefined;
}
