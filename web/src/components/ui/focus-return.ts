/** Gives the focus back to what opened a dialog: the button, or the button of the menu it was chosen from. */
import { useState } from "react";

/** What a dialog does when it closes, as `onCloseAutoFocus`. */
export function useFocusReturn(open: boolean): (event: Event) => void {
  const [was, setWas] = useState(false);
  const [opener, setOpener] = useState<Element | null>(null);
  // Looked at while it is drawn: afterwards a field in the dialog may have taken the focus already.
  if (open !== was) {
    setWas(open);
    if (open) setOpener(openerOf(document.activeElement));
  }
  return (event) => {
    event.preventDefault();
    const target = opener?.isConnected ? opener : document.getElementById("page");
    if (target instanceof HTMLElement) target.focus();
  };
}

function openerOf(active: Element | null): Element | null {
  const menu = active?.closest("[role=menu]");
  const button = menu ? document.getElementById(menu.getAttribute("aria-labelledby") ?? "") : active;
  return button === document.body ? null : button;
}
