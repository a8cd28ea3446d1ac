/** Leaving: signing out, and going to another team. Both begin anew, so that nothing of before is left on the page. */
import { api } from "./api";

export async function signOut(): Promise<void> {
  await api.POST("/sign-out");
  leave("/sign-in");
}

export async function switchTeam(tenant: string): Promise<void> {
  await api.POST("/api/tenants/switch", { body: { tenant } });
  leave("/");
}

function leave(path: string): void {
  sessionStorage.clear();
  location.assign(path);
}
