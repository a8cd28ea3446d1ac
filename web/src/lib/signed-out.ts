/** Remembers across a reload of this tab that somebody was signed out, so that the sign-in page can say so. */
const KEPT = "agio.signed-out";

export function noteSignedOut(): void {
  sessionStorage.setItem(KEPT, "1");
}

/** Whether it was noted; it is said once. */
export function takeSignedOut(): boolean {
  const noted = sessionStorage.getItem(KEPT) !== null;
  sessionStorage.removeItem(KEPT);
  return noted;
}
