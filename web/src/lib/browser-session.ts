/** Leaving: signing out, and going to another team. Both begin anew, so that nothing of before is left on the page. */
import { api } from "./api";

const OWNER = "agio.owner";

export async function signOut(): Promise<void> {
  await api.POST("/sign-out");
  leave("/sign-in");
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

/** Forgets what this tab keeps of somebody else, or of another team: whoever signs in next must not find it. */
export function claimTab(owner: { tenant: string; user: string }): void {
  const name = `${owner.tenant} ${owner.user}`;
  const before = sessionStorage.getItem(OWNER);
  if (before !== null && before !== name) sessionStorage.clear();
  sessionStorage.setItem(OWNER, name);
}

export function leave(path: string): void {
  sessionStorage.clear();
  location.assign(path);
}
