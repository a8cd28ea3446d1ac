/** A message on its way: how far it is, and what to do if the server refused it. */
import { CircleAlert, Clock, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { AskedContent } from "@/components/turn/asked-content";
import { Button } from "@/components/ui/button";
import type { Outgoing } from "@/realtime/outbox";
import { useSocketState } from "@/realtime/socket-context";

interface OutgoingMessageProps {
  item: Outgoing;
  onRetry: () => void;
  onDiscard: () => void;
}

export function OutgoingMessage({ item, onRetry, onDiscard }: OutgoingMessageProps): ReactNode {
  const online = useSocketState() === "online";
  return (
    <article aria-label="Your message" className="flex flex-col items-end gap-1.5">
      <h2 className="sr-only">Your message</h2>
      <AskedContent content={item.content} className={item.problem ? "ring-1 ring-bad" : "opacity-70"} />
      {item.problem ? (
        <div
          role="alert"
          className="flex max-w-full flex-wrap items-center justify-end gap-2 text-sm text-bad"
        >
          <CircleAlert className="size-4 shrink-0" aria-hidden />
          <span className="min-w-0 wrap-anywhere">
            {item.problem.message} <span className="font-mono text-xs">{item.problem.code}</span>
          </span>
          <Button size="small" onClick={onRetry}>
            Retry
          </Button>
          <Button size="small" look="quiet" onClick={onDiscard}>
            Discard
          </Button>
        </div>
      ) : (
        <div role="status" className="flex items-center gap-1.5 text-xs text-soft">
          {item.messageId !== null ? (
            <>
              <Clock className="size-3" aria-hidden />{" "}
              {item.steer ? "Joins the answer at its next step" : "Queued: sends when this answer finishes"}
            </>
          ) : (
            <>
              <LoaderCircle className="size-3 animate-spin" aria-hidden />
              {online ? "Sending…" : "Waiting for connection"}
            </>
          )}
        </div>
      )}
    </article>
  );
}
