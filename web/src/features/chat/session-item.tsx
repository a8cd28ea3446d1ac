/** One chat in the list: its title, how it stands, and what can be done to it. */
import { Link } from "@tanstack/react-router";
import { Ellipsis, Pencil, Trash2 } from "lucide-react";
import { memo, type ReactNode, useState } from "react";
import { Menu, MenuItem } from "@/components/ui/menu";
import { cx } from "@/lib/class-names";
import { messageHash } from "@/lib/message-hash";
import type { FoundView, ListedSession } from "@/protocol/api";
import { followMessage } from "./deep-link";
import { useSessionActions } from "./session-actions";
import { TitleInput } from "./title-input";

interface SessionItemProps {
  session: ListedSession;
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
        {...placeOf(session)}
        onClick={() => session.found && followMessage(session.found.message_id)}
        aria-current={open ? "page" : undefined}
        title={title}
        className={cx(
          "block rounded-lg pr-8 pl-2.5 text-[0.8125rem] hover:bg-hover",
          session.found && "pb-1.5",
          open ? "bg-hover font-medium" : unread ? "font-semibold" : "text-soft hover:text-ink",
        )}
      >
        <span className="flex h-8 items-center gap-2">
          <span className="min-w-0 flex-1 truncate">{title}</span>
          <StatusDot session={session} failed={failed} unread={unread} />
        </span>
        {session.found && <Snippet found={session.found} />}
      </Link>
      <div className="absolute top-0 right-0 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 has-data-[state=open]:opacity-100 pointer-coarse:opacity-100">
        <Menu
          trigger={
            <button
              type="button"
              aria-label={`Options for ${title}`}
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

/** Where a link to a chat that was searched leads: to the message that has it. */
export function placeOf({ found }: ListedSession): { hash?: string } {
  return found ? { hash: messageHash(found.message_id, found.run_id) } : {};
}

/** The words that were searched, marked in what stands around them. */
function Snippet({ found }: { found: FoundView }): ReactNode {
  return (
    <span
      dir="auto"
      className="-mt-1 line-clamp-3 text-xs leading-relaxed font-normal wrap-anywhere text-soft"
    >
      {found.before}
      <mark className="rounded-xs bg-accent-soft font-medium text-accent-text">{found.match}</mark>
      {found.after}
    </span>
  );
}

interface StatusDotProps {
  session: ListedSession;
  failed: boolean;
  unread: boolean;
}

function StatusDot({ session, failed, unread }: StatusDotProps): ReactNode {
  const { state } = session;
  const [colour, label] =
    state === "running" || state === "queued"
      ? ["animate-shimmer bg-accent", "running"]
      : state === "waiting"
        ? ["bg-warn", "needs approval"]
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
