/** A menu that opens from a button. The page around it stays there for screen readers: it is not a dialog. */
import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";

interface MenuProps {
  trigger: ReactNode;
  children: ReactNode;
  align?: "start" | "end";
  side?: "top" | "bottom" | "right";
}

export function Menu({ trigger, children, align = "end", side = "bottom" }: MenuProps): ReactNode {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          side={side}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={stayWhereTaken}
          className="z-50 max-h-96 min-w-48 animate-rise overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-xl"
        >
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** What was chosen may have taken the focus by now; only where nothing did does it go back to the button. */
function stayWhereTaken(event: Event): void {
  if (document.activeElement !== document.body) event.preventDefault();
}

interface MenuItemProps {
  onSelect?: () => void;
  danger?: boolean;
  disabled?: boolean;
  /** The element it is made of, such as a link. */
  asChild?: boolean;
  children: ReactNode;
}

export function MenuItem({ onSelect, danger, disabled, asChild, children }: MenuItemProps): ReactNode {
  return (
    <Radix.Item
      asChild={asChild ?? false}
      disabled={disabled ?? false}
      {...(onSelect ? { onSelect } : {})}
      className={cx(
        "flex cursor-pointer items-center gap-2 rounded-lg px-2.5 py-1.5 text-sm outline-none select-none",
        "data-[disabled]:pointer-events-none data-[disabled]:opacity-50 data-[highlighted]:bg-hover",
        danger && "text-bad",
      )}
    >
      {children}
    </Radix.Item>
  );
}

export function MenuLabel({ children }: { children: ReactNode }): ReactNode {
  return <Radix.Label className="px-2.5 py-1.5 text-xs font-medium text-soft">{children}</Radix.Label>;
}

export function MenuLine(): ReactNode {
  return <Radix.Separator className="my-1 h-px bg-line" />;
}
