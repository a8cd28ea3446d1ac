/** What whoever runs the server adds to its environment to have an address called that is not public; null for none. */
export function allowSetting(url: string): string | null {
  if (!URL.canParse(url.trim())) return null;
  const { hostname, port, protocol } = new URL(url.trim());
  return hostname ? `AGIO_EGRESS_ALLOW=${hostname}:${port || (protocol === "https:" ? 443 : 80)}` : null;
}
