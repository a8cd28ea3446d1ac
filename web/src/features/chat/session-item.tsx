/** One chat in the list: its title, how it stands, and what can be done to it. */
import { Link } from "@tanstack/react-router";
import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { memo, type ReactNode, useState } from "react";
import { Menu, MenuItem } from "@/components/ui/menu";
import { cx } from "@/lib/class-names";
import type { SessionView } from "@/protocol/api";
import { useSessionActions } from "./session-actions";
import { TitleInput } from "./title-input";

interface SessionItemProps {
  session: SessionView;
  open: boolean;
  /** Its last run ended with an error. */
  failed: boolean;
}

export const SessionItem = memo(function SessionItem({ session, open, failed }: SessionItemProps): ReactNode {
  const title = session.title || "New chat";
  const [renaming, setRenaming] = useState(false);
  const { rename, remove } = useSessionActions(session.id, session.title);
  const unread = !open && session.last_pos > session.seen_pos;
  if (renaming) {
    return (
      <li>
        <TitleInput
          title={session.title}
          onDone={(next) => {
            setRenaming(false);
            if (next !== null) void rename(next);
          }}
          className="h-8 w-full rounded-lg border border-accent bg-raised px-2.5 text-[0.8125rem] outline-none"
        />
      </li>
    );
  }
  return (
    <li className="group relative">
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: session.id }}
        aria-current={open ? "page" : undefined}
        title={title}
        className={cx(
          "flex h-8 items-center gap-2 rounded-lg pr-8 pl-2.5 text-[0.8125rem] hover:bg-hover",
          open ? "bg-hover font-medium" : unread ? "font-semibold" : "text-soft hover:text-ink",
        )}
      >
        <span className="min-w-0 flex-1 truncate">{title}</span>
        <StatusDot session={session} failed={failed} unread={unread} />
      </Link>
      <div className="absolute top-0 right-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 has-data-[state=open]:opacity-100 pointer-coarse:opacity-100">
        <Menu
          trigger={
            <button
              type="button"
              aria-label={`More about ${title}`}
              className="grid size-8 place-items-center rounded-lg text-soft hover:text-ink"
            >
              <Ellipsis className="size-4" aria-hidden />
            </button>
          }
        >
          <MenuItem onSelect={() => setRenaming(true)}>
            <Pencil className="size-4" aria-hidden /> Rename
          </MenuItem>
          <MenuItem danger onSelect={() => void remove()}>
            <Trash2 className="size-4" aria-hidden /> Delete
          </MenuItem>
        </Menu>
      </div>
    </li>
  );
});

interface StatusDotProps {
  session: SessionView;
  failed: boolean;
  unread: boolean;
}

function StatusDot({ session, failed, unread }: StatusDotProps): ReactNode {
  const { state } = session;
  const [colour, label] =
    state === "running" || state === "queued"
      ? ["animate-shimmer bg-accent", "running"]
      : state === "waiting"
        ? ["bg-warn", "waits for you"]
        : failed
          ? ["bg-bad", "failed"]
          : unread
            ? ["bg-accent", "new"]
            : [null, ""];
  if (!colour) return null;
  return (
    <span
      className={cx("size-2 shrink-0 rounded-full", colour)}
      role="img"
      aria-label={label}
      title={label}
    />
  );
}
