/** A quiet card of one line that unfolds. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import { cx } from "@/lib/class-names";
import { useKeptState } from "./kept-state";

interface FoldCardProps {
  /** What it is about, by which it is known again. */
  name: string;
  icon: ReactNode;
  title: ReactNode;
  /** A few words after the title, cut where there is no room. */
  summary?: ReactNode;
  /** At the end of the line: how it stands. */
  state?: ReactNode;
  /** Always shown, under the line. */
  below?: ReactNode;
  bad?: boolean;
  startsOpen?: boolean;
  /** What it unfolds to, made when it does. */
  children: () => ReactNode;
}

export function FoldCard(props: FoldCardProps): ReactNode {
  const { name, icon, title, summary, state, below, bad = false, startsOpen = false, children } = props;
  const [open, setOpen] = useKeptState(`open ${name}`, startsOpen);
  const id = useId();
  return (
    <div className={cx("my-2 rounded-xl border bg-raised", bad ? "border-bad/50" : "border-line")}>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="flex min-h-10 w-full items-center gap-2 rounded-xl px-3 py-1.5 text-left text-sm hover:bg-hover/60"
      >
        <span className={cx("shrink-0", bad ? "text-bad" : "text-soft")} aria-hidden>
          {icon}
        </span>
        <span className="max-w-[60%] min-w-0 truncate font-medium">{title}</span>
        <span className="min-w-0 flex-1 truncate text-[0.8125rem] text-soft">{summary}</span>
        <span className="flex shrink-0 items-center gap-1.5 text-xs text-soft">{state}</span>
        <ChevronRight
          className={cx("size-4 shrink-0 text-soft transition-transform", open && "rotate-90")}
          aria-hidden
        />
      </button>
      {below}
      <div id={id} hidden={!open}>
        {open && <div className="flex flex-col gap-3 border-t border-line p-3">{children()}</div>}
      </div>
    </div>
  );
}
