/** What a person said: a bubble on the right, with its files, and what can be done with it. */
import { Brain, Link2, Pencil } from "lucide-react";
import { type ReactNode, Suspense, useState } from "react";
import { AskedContent } from "@/components/turn/asked-content";
import { useKeptState } from "@/components/turn/kept-state";
import { HIGHLIGHT, QUIET } from "@/components/turn/looks";
import { filesOf, type MediaPart } from "@/components/turn/source";
import { IconButton } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { useToast } from "@/components/ui/toast";
import { Tooltip } from "@/components/ui/tooltip";
import { cx } from "@/lib/class-names";
import { copyText } from "@/lib/clipboard";
import { formatClock, formatMoment } from "@/lib/format";
import { messageHash } from "@/lib/message-hash";
import type { Content } from "@/protocol/commands";
import { type Asked, textOf } from "@/state/thread";
import type { TurnActions } from "../turn-actions";

import { EditMessage, RememberMessage } from "./later";

interface UserMessageProps {
  sessionId: string;
  runId: string;
  asked: Asked;
  highlighted: boolean;
  /** Why it cannot be edited now. */
  blocked: string | null;
  onEdit: TurnActions["edit"] | undefined;
  onEditElsewhere: TurnActions["editElsewhere"] | undefined;
  /** What is always shown below it. */
  children?: ReactNode;
}

export function UserMessage(props: UserMessageProps): ReactNode {
  const { sessionId, runId, asked, highlighted, blocked, onEdit, onEditElsewhere, children } = props;
  const [editing, setEditing] = useKeptState(`editing ${asked.id}`, false);
  const [opened, setOpened] = useState(false);
  const [remembering, setRemembering] = useState(false);
  const text = textOf(asked.content);
  const files = filesOf(asked.content);
  const sending = (send: typeof onEdit) => async (edited: string) => {
    await send?.(asked, files.length > 0 ? withText(edited, files) : edited);
    setEditing(false);
  };
  return (
    <article
      id={`message-${asked.id}`}
      aria-label="You said"
      tabIndex={-1}
      className="group flex scroll-mt-6 flex-col items-end gap-1.5 outline-none"
    >
      <h2 className="sr-only">You said</h2>
      <AskedContent content={editing ? files : asked.content} className={highlighted && HIGHLIGHT} />
      {editing ? (
        <Suspense>
          <EditMessage
            id={asked.id}
            takesFocus={opened}
            text={text}
            hasFiles={files.length > 0}
            onSend={sending(onEdit)}
            onSendElsewhere={sending(onEditElsewhere)}
            onCancel={() => setEditing(false)}
          />
        </Suspense>
      ) : (
        <div className="-mt-1 -mb-2 flex items-center gap-0.5 text-soft [&_button]:size-7!">
          <div className={cx("flex items-center gap-0.5", QUIET)}>
            {asked.at !== null && <Time at={asked.at} />}
            <CopyLink hash={messageHash(asked.id, runId)} />
            <CopyButton text={text} label="Copy message" />
            {text.trim() && (
              <IconButton label="Remember this" onClick={() => setRemembering(true)}>
                <Brain className="size-4" aria-hidden />
              </IconButton>
            )}
            {onEdit && (
              <IconButton
                label="Edit message"
                unavailable={blocked}
                onClick={() => {
                  setOpened(true);
                  setEditing(true);
                }}
              >
                <Pencil className="size-4" aria-hidden />
              </IconButton>
            )}
          </div>
          {children}
        </div>
      )}
      {remembering && (
        <Suspense>
          <RememberMessage
            sessionId={sessionId}
            messageId={asked.id}
            text={text}
            onClose={() => setRemembering(false)}
          />
        </Suspense>
      )}
    </article>
  );
}

function Time({ at }: { at: number }): ReactNode {
  return (
    <Tooltip label={formatMoment(at)}>
      <time dateTime={new Date(at).toISOString()} className="px-1.5 text-xs">
        {formatClock(at)}
      </time>
    </Tooltip>
  );
}

function CopyLink({ hash }: { hash: string }): ReactNode {
  const toast = useToast();
  const copy = async () => {
    const copied = await copyText(`${location.origin}${location.pathname}#${hash}`);
    if (copied) toast.done("Link copied.");
    else toast.failed(new Error("Your browser blocked copying."));
  };
  return (
    <IconButton label="Copy link to this message" onClick={() => void copy()}>
      <Link2 className="size-4" aria-hidden />
    </IconButton>
  );
}

function withText(text: string, files: MediaPart[]): Content {
  return text.trim() ? [{ type: "text", text }, ...files] : files;
}
