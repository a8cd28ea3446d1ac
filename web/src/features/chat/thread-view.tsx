/** The turns of a chat in a list of which only what is near the window is on the page. */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, LoaderCircle } from "lucide-react";
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import type { Branch } from "@/protocol/api";
import { useOutbox } from "@/realtime/outbox-context";
import type { AgentStream } from "@/realtime/use-agent-stream";
import { useDeepLink, useWantedMessage } from "./deep-link";
import { useEndOfThread } from "./end-of-thread";
import { OutgoingMessage } from "./messages/turn-view";
import { rowsOf, type ThreadRows, versionsOf } from "./thread-rows";
import type { TurnActions } from "./turn-actions";
import { TurnRow } from "./turn-row";
import { useVersions } from "./versions";

/** How near the top older messages are asked for, in rows. */
const TOP_ROWS = 4;
const ROW_HEIGHT = 220;
const SETTLING_MS = 300;

export interface ThreadHandle {
  toEnd: () => void;
  /** Goes to the end, with the focus: what had it is replaced by what comes there. */
  toBranch: () => void;
}

interface ThreadViewProps extends Omit<ThreadRows, "turns" | "versions"> {
  stream: AgentStream;
  /** The runs of the path that have alternatives. */
  branches: readonly Branch[];
  actions: TurnActions;
  /** Why no branch can be made or chosen now. */
  blocked: string | null;
  /** Called when the reader reaches the end or leaves it. */
  onAtEnd: (atEnd: boolean) => void;
  handle: RefObject<ThreadHandle | null>;
}

export function ThreadView(props: ThreadViewProps): ReactNode {
  const { sessionId, stream, waiting, forkedFrom, branches, actions, blocked, onAtEnd, handle } = props;
  const { suggestions } = props;
  const { thread, older, loadingOlder, loadOlder, problem } = stream;
  const outbox = useOutbox();
  const scroller = useRef<HTMLDivElement>(null);
  const [settled, setSettled] = useState(false);
  const versions = useMemo(() => versionsOf(branches), [branches]);
  const rows = useMemo(
    () =>
      rowsOf({
        turns: thread.turns,
        waiting,
        forkedFrom: older ? null : forkedFrom,
        versions,
        sessionId,
        suggestions,
      }),
    [thread.turns, waiting, older, forkedFrom, versions, sessionId, suggestions],
  );
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: (index) => rows[index]?.key ?? index,
    estimateSize: () => ROW_HEIGHT,
    overscan: 4,
    anchorTo: "end",
  });
  const wanted = useWantedMessage(sessionId);
  const { atEnd, toEnd, letGo } = useEndOfThread(scroller, wanted === null);
  const highlighted = useDeepLink({ wanted, stream, rows, virtualizer, scroller, letGo, show: actions.show });
  const toBranch = useCallback(() => {
    toEnd();
    scroller.current?.focus({ preventScroll: true });
  }, [toEnd]);
  useImperativeHandle(handle, () => ({ toEnd, toBranch }), [toEnd, toBranch]);
  const { choose, onKeyDown } = useVersions({ rows, scroller, letGo, choose: actions.choose, blocked });

  // It opens at its end: until it is there, the top of what is here is not the top of what the reader sees.
  useEffect(() => {
    const timer = setTimeout(() => setSettled(true), SETTLING_MS);
    return () => clearTimeout(timer);
  }, []);

  const pos = useRef(thread.pos);
  pos.current = thread.pos;
  const [leftAt, setLeftAt] = useState(thread.pos);
  useEffect(() => {
    onAtEnd(atEnd);
    if (!atEnd) setLeftAt(pos.current);
  }, [atEnd, onAtEnd]);

  const items = virtualizer.getVirtualItems();
  const first = items[0];
  const nearTop = settled && first !== undefined && first.index < TOP_ROWS;
  useEffect(() => {
    if (nearTop && older && !loadingOlder && !problem) void loadOlder();
  }, [nearTop, older, loadingOlder, problem, loadOlder]);

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={scroller}
        role="log"
        aria-live="off"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
        onKeyDown={onKeyDown}
        className="h-full overflow-x-hidden overflow-y-auto [overflow-anchor:none] focus-visible:outline-offset-[-2px]"
      >
        <div className="relative w-full" style={{ height: virtualizer.getTotalSize() }}>
          <div
            className="absolute top-0 left-0 w-full"
            style={{ transform: `translateY(${first?.start ?? 0}px)` }}
          >
            {items.map(({ index, key }) => {
              const row = rows[index];
              return (
                <div
                  key={key}
                  data-index={index}
                  data-row={key}
                  ref={virtualizer.measureElement}
                  className="px-4"
                >
                  <div className="mx-auto w-full max-w-3xl py-3">
                    {row?.kind === "turn" && (
                      <TurnRow
                        sessionId={sessionId}
                        turn={row.turn}
                        answerable={row.answerable}
                        retryable={row.retryable}
                        last={row.last}
                        branch={row.branch}
                        blocked={blocked}
                        actions={actions}
                        onChoose={choose}
                        highlighted={
                          highlighted && row.turn.runId === highlighted.runId ? highlighted.id : null
                        }
                      />
                    )}
                    {row?.kind === "waiting" && (
                      <OutgoingMessage
                        item={row.item}
                        onRetry={() => outbox.retry(row.item.key)}
                        onDiscard={() => outbox.remove(row.item.key)}
                      />
                    )}
                    {row?.kind === "note" && row.note}
                  </div>
                </div>
              );
            })}
          </div>
        </div>
      </div>
      {(loadingOlder || problem) && older && (
        <div className="absolute inset-x-4 top-2 mx-auto flex max-w-3xl justify-center">
          {problem ? (
            <ProblemNote problem={problem} onRetry={() => void loadOlder()} />
          ) : (
            <p
              role="status"
              className="flex items-center gap-2 rounded-full border border-line bg-raised px-3 py-1 text-xs text-soft shadow-sm"
            >
              <LoaderCircle className="size-3.5 animate-spin" aria-hidden /> Loading older messages
            </p>
          )}
        </div>
      )}
      {settled && !atEnd && (
        <Button
          size="small"
          onClick={toEnd}
          className="absolute bottom-3 left-1/2 -translate-x-1/2 animate-fade-in rounded-full! shadow-md"
        >
          <ArrowDown className="size-4" aria-hidden /> Jump to latest
          {thread.pos > leftAt && (
            <span role="img" aria-label="New messages" className="size-2 rounded-full bg-accent" />
          )}
        </Button>
      )}
    </div>
  );
}
