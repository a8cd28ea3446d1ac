/** A dialog over the page. Focus goes in, stays in, and comes back. */
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";
import { IconButton } from "./button";
import { useFocusReturn } from "./focus-return";

interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  wide?: boolean;
  children?: ReactNode;
}

export function Dialog({ open, onClose, title, description, wide, children }: DialogProps): ReactNode {
  const giveBack = useFocusReturn(open);
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-50 animate-fade-in bg-black/45" />
        <Radix.Content
          onOpenAutoFocus={focusFirstField}
          onCloseAutoFocus={giveBack}
          {...(description ? {} : { "aria-describedby": undefined })}
          className={cx(
            "fixed top-1/2 left-1/2 z-50 flex max-h-[min(90dvh,50rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col",
            "animate-rise overflow-y-auto rounded-2xl border border-line bg-raised p-5 shadow-2xl focus:outline-none",
            wide ? "max-w-2xl" : "max-w-md",
          )}
        >
          <div className="mb-3 flex items-start justify-between gap-4">
            <div>
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              {description && (
                <Radix.Description className="mt-1 text-sm text-soft">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close asChild>
              <IconButton label="Close" className="-mt-1 -mr-1">
                <X className="size-4" aria-hidden />
              </IconButton>
            </Radix.Close>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Puts the focus where one would write; without a field on the dialog itself, and not on the cross that closes it. */
function focusFirstField(event: Event): void {
  const dialog = event.currentTarget as HTMLElement | null;
  const field = dialog?.querySelector<HTMLElement>(
    "input:not([disabled]), textarea:not([disabled]), select:not([disabled])",
  );
  event.preventDefault();
  (field ?? dialog)?.focus();
}

/** The row of buttons at the end of a dialog or a form. */
export function Actions({ children }: { children: ReactNode }): ReactNode {
  return <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>;
}
