/** The token of an invitation: as it stands behind the # of its link, and as this tab keeps it on the way to a provider. */
import { tabMemory } from "@/lib/memory";

const KEPT = "agio.invitation";

export function tokenOf(hash: string): string {
  const raw = hash.replace(/^#/, "");
  try {
    return decodeURIComponent(raw).trim().slice(0, 200);
  } catch {
    return raw.slice(0, 200);
  }
}

/** Keeps the token while the browser is at a provider, so that a refused user can return; null forgets it. */
export function keepInvitation(token: string | null): void {
  tabMemory.keep(KEPT, token);
}

export function keptInvitation(): string | null {
  return tabMemory.read(KEPT);
}
