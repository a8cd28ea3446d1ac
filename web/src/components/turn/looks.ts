/** Looks that several parts of a message share. */

/** Actions that show when the message is pointed at or has the focus, and always where nothing can point. */
export const QUIET =
  "opacity-0 transition-opacity group-hover:opacity-100 group-focus-within:opacity-100 pointer-coarse:opacity-100";

/** The message a link led to. */
export const HIGHLIGHT = "ring-2 ring-accent ring-offset-4 ring-offset-canvas";
