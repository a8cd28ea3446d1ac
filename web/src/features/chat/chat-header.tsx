/** The top of a chat: its title, whom it is with, what it came to, and what can be done to it. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Ellipsis, ExternalLink, Link2, Pencil, Trash2 } from "lucide-react";
import { memo, type ReactNode, useState } from "react";
import { sessionQuery } from "@/api/queries";
import { IconButton } from "@/components/ui/button";
import { Menu, MenuItem, MenuLine } from "@/components/ui/menu";
import { useTitle } from "@/components/ui/page";
import { useToast } from "@/components/ui/toast";
import { copyText } from "@/lib/clipboard";
import type { Turn } from "@/state/thread";
import { RunMeter } from "./run-meter";
import { useSessionActions } from "./session-actions";
import { TitleInput } from "./title-input";
import type { Spending } from "./usage";

interface ChatHeaderProps {
  sessionId: string;
  /** The agent that has the conversation. */
  agent: string;
  newest: readonly Spending[];
  running: Pick<Turn, "runId" | "step" | "startedAt"> | null;
}

export const ChatHeader = memo(function ChatHeader({
  sessionId,
  agent,
  newest,
  running,
}: ChatHeaderProps): ReactNode {
  const session = useQuery(sessionQuery(sessionId)).data;
  const toast = useToast();
  const [renaming, setRenaming] = useState(false);
  const title = session?.title ?? "";
  const shown = title || "New chat";
  const { rename, remove } = useSessionActions(sessionId, title);
  useTitle(shown);
  const copyLink = async () => {
    const copied = await copyText(`${location.origin}/chat/${sessionId}`);
    if (copied) toast.done("Link copied. Only you can open this chat.");
    else toast.failed(new Error("Your browser blocked copying."));
  };
  return (
    <header className="flex h-12 shrink-0 items-center gap-3 border-b border-line px-4">
      <div className="flex min-w-0 flex-1 items-baseline gap-2.5">
        {renaming ? (
          <TitleInput
            title={title}
            onDone={(next) => {
              setRenaming(false);
              if (next !== null) void rename(next);
            }}
            className="h-8 w-full max-w-md rounded-lg border border-accent bg-raised px-2 text-sm font-semibold outline-none"
          />
        ) : (
          <h1 className="min-w-0 text-sm font-semibold">
            <button
              type="button"
              title="Rename"
              onClick={() => setRenaming(true)}
              className="block min-h-6 max-w-full truncate rounded-md hover:text-accent-text"
            >
              {session ? shown : " "}
            </button>
          </h1>
        )}
        {session && (
          <p className="hidden max-w-64 shrink-0 truncate text-[0.8125rem] text-soft md:block">
            <Link
              to="/chat"
              search={{ agent: session.agent_id }}
              title={`New chat with ${session.agent_name}`}
              className="rounded-md hover:text-ink"
            >
              {session.agent_name}
            </Link>
            {agent !== session.agent_name && <span title={`${agent} has the conversation`}> → {agent}</span>}
          </p>
        )}
      </div>
      <RunMeter sessionId={sessionId} newest={newest} running={running} />
      <Menu
        trigger={
          <IconButton label="Chat options">
            <Ellipsis className="size-4" aria-hidden />
          </IconButton>
        }
      >
        <MenuItem onSelect={() => setRenaming(true)}>
          <Pencil className="size-4" aria-hidden /> Rename
        </MenuItem>
        <MenuItem onSelect={() => void copyLink()}>
          <Link2 className="size-4" aria-hidden /> Copy link
        </MenuItem>
        {session?.last_run_id && (
          <MenuItem asChild>
            <Link to="/runs/$runId" params={{ runId: running?.runId ?? session.last_run_id }}>
              <ExternalLink className="size-4" aria-hidden /> View run
            </Link>
          </MenuItem>
        )}
        <MenuLine />
        <MenuItem danger onSelect={() => void remove()}>
          <Trash2 className="size-4" aria-hidden /> Delete
        </MenuItem>
      </Menu>
    </header>
  );
});
