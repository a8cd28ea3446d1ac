/** The agent last talked to, with which a new chat begins. */
const KEPT = "agio.agent";

export function lastAgent(): string | null {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

export function rememberAgent(agentId: string): void {
  try {
    localStorage.setItem(KEPT, agentId);
  } catch {
    // It is a convenience; without it the first agent is offered.
  }
}
