/** Whether the focus is in a field, a menu or a dialog: keys have another meaning there, and the focus stays. */
export function isAtWork(except: Element | null = null): boolean {
  const active = document.activeElement;
  const place = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";
  return active !== null && active !== except && active.closest(place) !== null;
}
