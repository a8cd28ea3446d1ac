/** The calm card of the pages that stand outside the app: the logo, a heading, what to do. */
import type { ReactNode } from "react";
import { useTitle } from "@/components/ui/page";

interface WelcomeCardProps {
  title: string;
  description?: ReactNode;
  /** Small words below the card. */
  below?: ReactNode;
  children?: ReactNode;
}

export function WelcomeCard({ title, description, below, children }: WelcomeCardProps): ReactNode {
  useTitle(title);
  return (
    <main className="flex min-h-dvh flex-col items-center justify-center bg-panel px-4 py-10">
      <img src="/icon.svg" alt="agio" className="mb-6 size-11 rounded-xl" />
      <div className="w-full max-w-sm rounded-2xl border border-line bg-raised p-6 shadow-sm sm:p-8">
        <h1 className="text-center text-xl font-semibold tracking-tight wrap-anywhere">{title}</h1>
        {description && <p className="mt-2 text-center text-sm text-soft wrap-anywhere">{description}</p>}
        {children && <div className="mt-6 flex flex-col gap-4">{children}</div>}
      </div>
      {below && <div className="mt-5 w-full max-w-sm text-center text-[0.8125rem] text-soft">{below}</div>}
    </main>
  );
}

/** News at the top of a card. */
export function Notice({ children, warn }: { children: ReactNode; warn?: boolean }): ReactNode {
  return (
    <p
      role={warn ? "alert" : "status"}
      className={
        warn
          ? "rounded-xl bg-warn-soft px-4 py-3 text-sm text-warn wrap-anywhere"
          : "rounded-xl bg-accent-soft px-4 py-3 text-sm text-accent-text wrap-anywhere"
      }
    >
      {children}
    </p>
  );
}

export function Or(): ReactNode {
  return (
    <div className="flex items-center gap-3 text-xs text-soft">
      <span className="h-px flex-1 bg-line" aria-hidden />
      or
      <span className="h-px flex-1 bg-line" aria-hidden />
    </div>
  );
}

/** A message of the server, in which `...` are commands. */
export function Words({ text }: { text: string }): ReactNode {
  return text.split(/(`[^`]+`)/).map((part) =>
    part.startsWith("`") && part.length > 1 ? (
      <code key={part} className="font-mono">
        {part.slice(1, -1)}
      </code>
    ) : (
      part
    ),
  );
}
