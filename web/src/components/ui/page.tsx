/** The frame of every page but the chat: a heading, its actions, and the content in a readable width. */
import { type ReactNode, useEffect } from "react";
import { cx } from "@/lib/class-names";

interface PageProps {
  title: string;
  description?: ReactNode;
  actions?: ReactNode;
  /** Above the heading, such as the way back. */
  above?: ReactNode;
  wide?: boolean;
  children: ReactNode;
}

export function Page({ title, description, actions, above, wide, children }: PageProps): ReactNode {
  useTitle(title);
  return (
    <div className="relative h-full overflow-y-auto">
      <div className={cx("mx-auto w-full px-4 pt-6 pb-16 sm:px-8", wide ? "max-w-7xl" : "max-w-5xl")}>
        {above}
        <div className="mb-6 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
          <div className="min-w-0">
            <h1 className="text-xl font-semibold tracking-tight wrap-anywhere">{title}</h1>
            {description && <p className="mt-1 max-w-2xl text-sm text-soft">{description}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
        {children}
      </div>
    </div>
  );
}

/** Names the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · agio`;
  }, [title]);
}

/** A box with a heading, for parts of a page. */
export function Card({
  title,
  children,
  className,
}: {
  title?: string;
  children: ReactNode;
  className?: string;
}): ReactNode {
  return (
    <section className={cx("rounded-2xl border border-line bg-raised p-5", className)}>
      {title && <h2 className="mb-3 text-sm font-semibold">{title}</h2>}
      {children}
    </section>
  );
}
