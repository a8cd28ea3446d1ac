/** Says that another user saved what is being edited, and what saving and discarding do now. */
import type { ReactNode } from "react";

interface OvertakenNoteProps {
  /** Such as "agent". */
  what: string;
  /** A button, where the form has none that discards. */
  children?: ReactNode;
}

export function OvertakenNote({ what, children }: OvertakenNoteProps): ReactNode {
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-3 rounded-xl bg-warn-soft px-4 py-3 text-sm text-warn"
    >
      <p className="min-w-0 flex-1 basis-64">
        Someone else saved this {what} while you were editing it. Saving replaces their version; discarding
        shows it.
      </p>
      {children}
    </div>
  );
}
