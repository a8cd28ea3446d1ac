/** The arrow keys between the search field and the chats below it. */
import type { KeyboardEvent } from "react";

/** Goes down from the field into the list and through it, and up again; Escape goes back to the field. */
export function moveBetweenChats(event: KeyboardEvent<HTMLElement>, field: HTMLInputElement | null): void {
  if (!["ArrowDown", "ArrowUp", "Escape"].includes(event.key) || event.nativeEvent.isComposing) return;
  const stops = [field, ...event.currentTarget.querySelectorAll<HTMLElement>("li > a[href]")];
  const at = stops.findIndex((stop) => stop !== null && stop === event.target);
  if (at < 0 || (at === 0 && event.key !== "ArrowDown")) return;
  event.preventDefault();
  stops[event.key === "Escape" ? 0 : at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
}
