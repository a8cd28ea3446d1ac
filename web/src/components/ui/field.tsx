/** Fields of forms: a label, the control, a hint, and what is wrong with it. */
import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "@/lib/class-names";

const CONTROL =
  "w-full rounded-lg border border-strong-line/60 bg-raised px-3 text-sm text-ink placeholder:text-soft transition-colors " +
  "hover:border-strong-line focus:border-accent focus:outline-2 focus:outline-offset-0 focus:outline-accent/40 " +
  "aria-invalid:border-bad disabled:opacity-60 [&[readonly]]:bg-panel";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  problem?: string | undefined;
  /** Says that it may be left empty. */
  optional?: boolean;
  className?: string;
  /** Gets the names by which the control is tied to its label, hint and problem. */
  children: (control: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}

export function Field({ label, hint, problem, optional, className, children }: FieldProps): ReactNode {
  const id = useId();
  const described = [hint ? `${id}-hint` : "", problem ? `${id}-problem` : ""].filter(Boolean).join(" ");
  return (
    <div className={cx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
        {optional && <span className="font-normal text-soft"> (optional)</span>}
      </label>
      {children({
        id,
        ...(described ? { "aria-describedby": described } : {}),
        ...(problem ? { "aria-invalid": true as const } : {}),
      })}
      {hint && (
        <p id={`${id}-hint`} className="text-[0.8125rem] text-soft">
          {hint}
        </p>
      )}
      {problem && (
        <p id={`${id}-problem`} className="text-[0.8125rem] text-bad" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

export function Input({ className, ...rest }: ComponentProps<"input">): ReactNode {
  return <input className={cx(CONTROL, "h-9", className)} {...rest} />;
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">): ReactNode {
  return <textarea className={cx(CONTROL, "min-h-20 py-2 leading-relaxed", className)} {...rest} />;
}

/** The browser's own select: it knows keyboards, phones and screen readers best. */
export function Select({ className, ...rest }: ComponentProps<"select">): ReactNode {
  return <select className={cx(CONTROL, "h-9 pr-8", className)} {...rest} />;
}
