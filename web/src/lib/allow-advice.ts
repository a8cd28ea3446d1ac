/** How the server administrator allows an address that is not public; null for a text that is no URL. */
export function allowAdvice(url: string): string | null {
  if (!URL.canParse(url.trim())) return null;
  const { hostname, port, protocol } = new URL(url.trim());
  if (!hostname) return null;
  const entry = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return `The server administrator can allow it: add ${entry} to AGIO_EGRESS_ALLOW and restart the server. ${keepEntries(entry)}`;
}

/** The variable is a list: setting it to one address would drop the others. */
export function keepEntries(entry: string): string {
  return `If AGIO_EGRESS_ALLOW is already set, keep its entries: AGIO_EGRESS_ALLOW=<existing>,${entry}`;
}
