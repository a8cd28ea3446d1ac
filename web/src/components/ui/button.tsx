/** Buttons and links that look like them. */
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { cx } from "@/lib/class-names";
import { Tooltip } from "./tooltip";

type Look = "primary" | "plain" | "quiet" | "danger";
type Size = "small" | "medium";

const LOOKS: Record<Look, string> = {
  primary: "bg-accent text-accent-ink hover:bg-[color-mix(in_oklab,var(--accent)_88%,var(--ink))]",
  plain: "border border-line bg-raised text-ink hover:bg-hover",
  quiet: "text-soft hover:bg-hover hover:text-ink",
  danger: "bg-bad-fill text-bad-ink hover:bg-[color-mix(in_oklab,var(--bad-fill)_88%,var(--ink))]",
};
const SIZES: Record<Size, string> = { small: "h-8 px-2.5 text-[0.8125rem]", medium: "h-9 px-3.5 text-sm" };

/** The classes of a button, for links and for parts that bring their own element. */
export function buttonClass(look: Look = "plain", size: Size = "medium"): string {
  return cx(
    "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-lg font-medium whitespace-nowrap transition-[background-color,opacity]",
    "disabled:pointer-events-none disabled:opacity-50 aria-disabled:opacity-50",
    LOOKS[look],
    SIZES[size],
  );
}

interface ButtonProps extends ComponentProps<"button"> {
  look?: Look;
  size?: Size;
  /** Something is under way: the button waits with a spinner. */
  busy?: boolean;
}

export function Button({
  look,
  size,
  busy = false,
  className,
  children,
  disabled,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      className={cx(buttonClass(look, size), className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      {...rest}
    >
      {busy && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, "aria-label" | "title"> {
  /** What it does, for the tooltip and for screen readers. */
  label: string;
  /** Another text for the tooltip. */
  tip?: string | undefined;
  /** Why it cannot be used now, or null. It keeps the focus, and its tooltip says why. */
  unavailable?: string | null | undefined;
}

/** A square button with an icon, whose label is its tooltip. */
export function IconButton({
  label,
  tip,
  unavailable = null,
  look = "quiet",
  size = "small",
  className,
  ...rest
}: IconButtonProps): ReactNode {
  const off = unavailable === null ? {} : { "aria-disabled": true, "aria-description": unavailable };
  return (
    <Tooltip label={unavailable ?? tip ?? label}>
      <Button
        look={look}
        size={size}
        aria-label={label}
        className={cx(size === "small" ? "w-8 px-0!" : "w-9 px-0!", className)}
        {...rest}
        {...off}
        {...(unavailable === null ? {} : { onClick: undefined })}
      />
    </Tooltip>
  );
}
