/** Light, dark, or as the system says; kept in this browser. */
import { browserMemory } from "./memory";

export type Theme = "light" | "dark" | "system";

const KEPT = "agio.theme";

export function storedTheme(): Theme {
  const kept = browserMemory.read(KEPT);
  return kept === "light" || kept === "dark" ? kept : "system";
}

export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function storeTheme(theme: Theme): void {
  browserMemory.keep(KEPT, theme === "system" ? null : theme);
  applyTheme(theme);
}
