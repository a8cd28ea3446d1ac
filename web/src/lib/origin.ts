/** Where a secret may go. */

/** Scheme, host and port: a secret header goes only where it was entered for. */
export function originOf(url: string): string {
  const [scheme = "", rest = ""] = url.split("://", 2);
  const [host = ""] = rest.split(/[/?#]/, 1);
  return `${scheme}://${host}`.toLowerCase();
}
