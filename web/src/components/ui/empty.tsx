/** What a page shows when it has nothing yet: why, and what to do next. */
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** It is all the page has: its title is the page's heading. */
  whole?: boolean;
}

export function Empty({ icon: Icon, title, children, action, whole }: EmptyProps): ReactNode {
  const Title = whole ? "h1" : "h2";
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-14 text-center">
      <div className="grid size-12 place-items-center rounded-2xl bg-accent-soft text-accent-text">
        <Icon className="size-6" aria-hidden />
      </div>
      <Title className="text-base font-semibold">{title}</Title>
      {children && <div className="text-sm text-soft">{children}</div>}
      {action && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}
