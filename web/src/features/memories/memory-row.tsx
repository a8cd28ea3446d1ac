/** A memory in the list: what it says, whose it is, where it came from, and what can be done with it. */
import { Link } from "@tanstack/react-router";
import { Pencil, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { importanceWords, scopeWords, TYPES } from "@/components/memory/memory-words";
import { Badge } from "@/components/ui/badge";
import { IconButton } from "@/components/ui/button";
import { Tooltip } from "@/components/ui/tooltip";
import { formatCounted, formatDay, formatMoment } from "@/lib/format";
import { messageHash } from "@/lib/message-hash";
import type { MemoryView } from "@/protocol/api";

interface MemoryRowProps {
  memory: MemoryView;
  /** The name of its agent. */
  agent: string;
  mayChange: boolean;
  /** The caller. */
  user: string;
  onEdit: () => void;
  onDelete: () => void;
}

export function MemoryRow({ memory, agent, mayChange, user, onEdit, onDelete }: MemoryRowProps): ReactNode {
  const { content, score } = memory;
  return (
    <li className="flex items-start gap-3 px-4 py-3.5 sm:px-5">
      <div className="min-w-0 flex-1">
        <p className="text-sm whitespace-pre-wrap wrap-anywhere">{content}</p>
        <p className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
          <Badge>{TYPES[memory.memory_type].word}</Badge>
          {standing(memory)}
          {score !== null && score !== undefined && (
            <Tooltip label="How well it fits the search: higher is better">
              <span className="tabular-nums">Score {score.toFixed(2)}</span>
            </Tooltip>
          )}
          <span>For {scopeWords(memory.scope, agent)}</span>
          <span>Importance {importanceWords(memory.importance)}</span>
          <Used memory={memory} />
          <Tooltip label={`Added ${formatMoment(memory.created_at)}`}>
            <time dateTime={new Date(memory.observed_at).toISOString()}>{formatDay(memory.observed_at)}</time>
          </Tooltip>
          <Origin memory={memory} user={user} />
        </p>
      </div>
      {mayChange && (
        <div className="flex shrink-0 items-center gap-0.5">
          <IconButton label="Edit memory" onClick={onEdit}>
            <Pencil className="size-4" aria-hidden />
          </IconButton>
          <IconButton label="Delete memory" onClick={onDelete}>
            <Trash2 className="size-4" aria-hidden />
          </IconButton>
        </div>
      )}
    </li>
  );
}

function standing({ superseded_by, expires_at }: MemoryView): ReactNode {
  if (superseded_by) return <Badge tone="warn">Replaced</Badge>;
  if (expires_at !== null && expires_at <= Date.now()) return <Badge tone="warn">Expired</Badge>;
  return null;
}

function Used({ memory: { access_count, accessed_at } }: { memory: MemoryView }): ReactNode {
  if (access_count === 0 || accessed_at === null) return <span>Not used yet</span>;
  return (
    <Tooltip label={`Last used ${formatMoment(accessed_at)}`}>
      <span>Used in {formatCounted(access_count, "run")}</span>
    </Tooltip>
  );
}

const LINK =
  "rounded-sm underline decoration-line underline-offset-2 hover:text-ink hover:decoration-current";

/** The chat and the run it came from, or who wrote it. */
function Origin({ memory, user }: { memory: MemoryView; user: string }): ReactNode {
  const { session_id, run_id, message_id, created_by } = memory;
  if (created_by !== null && created_by !== user) return <span>Added by another member</span>;
  if (session_id === null) return <span>Added by you</span>;
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      {created_by === null && <span>Remembered automatically</span>}
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: session_id }}
        {...(message_id && run_id ? { hash: messageHash(message_id, run_id) } : {})}
        className={LINK}
      >
        From this chat
      </Link>
      {run_id && (
        <Link to="/runs/$runId" params={{ runId: run_id }} className={LINK}>
          Run
        </Link>
      )}
    </span>
  );
}
