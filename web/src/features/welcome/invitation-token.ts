/** The token of an invitation, as it stands behind the # of its link. */
export function tokenOf(hash: string): string {
  const raw = hash.replace(/^#/, "");
  try {
    return decodeURIComponent(raw).trim().slice(0, 200);
  } catch {
    return raw.slice(0, 200);
  }
}
