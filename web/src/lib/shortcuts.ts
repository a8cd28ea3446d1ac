/** Keys that do something anywhere on the page. */
import { useEffect } from "react";

interface Shortcut {
  /** As `KeyboardEvent.key` has it. */
  key: string;
  /** With Ctrl, or Cmd on a Mac. */
  command?: boolean;
  shift?: boolean;
  /** Also while the user types; keys without Ctrl never are. */
  whileTyping?: boolean;
}

/** Calls `act` when a shortcut is pressed and the user is not typing. */
export function useShortcut(shortcut: Shortcut, act: () => void): void {
  const { key, command = false, shift = false, whileTyping = command } = shortcut;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const fits =
        event.key.toLowerCase() === key.toLowerCase() &&
        (event.ctrlKey || event.metaKey) === command &&
        (event.shiftKey === shift || key === "?") &&
        !event.altKey;
      if (!fits || event.defaultPrevented || event.isComposing || (!whileTyping && isTyping(event.target)))
        return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, [key, command, shift, whileTyping, act]);
}

/** Whether a key that was pressed there is written. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** How a command key is called on this machine. */
export const COMMAND_KEY = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";
