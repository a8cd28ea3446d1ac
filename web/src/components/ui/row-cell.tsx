/** A small labelled control within a row of a list that is edited. */
import { type ReactNode, useId } from "react";
import { cx } from "@/lib/class-names";

interface RowCellProps {
  label: string;
  /** What the row is about, for screen readers: "of header 2". */
  of: string;
  problem?: string | undefined;
  className?: string;
  children: (control: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}

export function RowCell({ label, of, problem, className, children }: RowCellProps): ReactNode {
  const id = useId();
  return (
    <div className={cx("min-w-0", className)}>
      <label htmlFor={id} className="mb-1 block text-xs text-soft">
        {label} <span className="sr-only">{of}</span>
      </label>
      {children({
        id,
        ...(problem ? { "aria-describedby": `${id}-problem`, "aria-invalid": true as const } : {}),
      })}
      {problem && (
        <p id={`${id}-problem`} className="mt-1 text-[0.8125rem] text-bad" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}
