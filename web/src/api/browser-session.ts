/** Leaving: signing out, and going to another team. Both begin anew, so that nothing of before is left on the page. */

import { tabMemory } from "@/lib/memory";
import { noteSignedOut } from "@/lib/signed-out";
import { api } from "./client";

const OWNER = "agio.owner";

export async function signOut(): Promise<void> {
  await api.POST("/sign-out");
  tabMemory.clear();
  noteSignedOut();
  location.assign("/sign-in");
}

export async function switchTeam(tenant: string): Promise<void> {
  await api.POST("/api/tenants/switch", { body: { tenant } });
  leave("/");
}

/** Goes to a team and stays where one is, with all that this tab keeps of it. */
export async function returnToTeam(tenant: string): Promise<void> {
  await api.POST("/api/tenants/switch", { body: { tenant } });
  location.reload();
}

/** Forgets what this tab stored for another user or team, so that the next user cannot find it. */
export function claimTab(owner: { tenant: string; user: string }): void {
  const name = `${owner.tenant} ${owner.user}`;
  const before = tabMemory.read(OWNER);
  if (before !== null && before !== name) tabMemory.clear();
  tabMemory.keep(OWNER, name);
}

export function leave(path: string): void {
  tabMemory.clear();
  location.assign(path);
}
