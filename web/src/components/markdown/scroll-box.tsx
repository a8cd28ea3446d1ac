/** A box that scrolls sideways by itself, and can be reached by keyboard for it. */
import type { ReactNode } from "react";

interface ScrollBoxProps {
  /** What is in it, for screen readers. */
  label: string;
  className: string;
  /** It stands within a paragraph. */
  inline?: boolean;
  children: ReactNode;
}

export function ScrollBox({ label, className, inline = false, children }: ScrollBoxProps): ReactNode {
  const Box = inline ? "span" : "div";
  return (
    <Box tabIndex={0} role="group" aria-label={label} className={className}>
      {children}
    </Box>
  );
}
