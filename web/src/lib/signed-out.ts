/** Remembers across a reload of this tab that the user signed out, so that the sign-in page can say so. */
import { tabMemory } from "./memory";

const KEPT = "agio.signed-out";

export function noteSignedOut(): void {
  tabMemory.keep(KEPT, "1");
}

/** Whether it was noted; it is said once. */
export function takeSignedOut(): boolean {
  return tabMemory.take(KEPT) !== null;
}
