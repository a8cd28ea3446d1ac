/** Which messages on their way are shown below the thread: those it does not have yet. */
import { useEffect, useMemo, useRef } from "react";
import type { Outgoing } from "@/realtime/outbox";
import { useOutbox, useOutgoing } from "@/realtime/outbox-context";
import { type Asked, saidIn, type Thread } from "@/state/thread";

/**
 * Leaves out what the thread has. The server may begin a run before it says that it took the message: until it has
 * said so, a message with the same content that came after ours was put in the outbox is taken for it.
 */
export function stillWaiting(
  items: readonly Outgoing[],
  asked: readonly Asked[],
  knownWhenPut: ReadonlyMap<string, ReadonlySet<string>>,
): Outgoing[] {
  const ids = new Set(asked.map(({ id }) => id));
  const taken = new Set(items.flatMap(({ messageId }) => messageId ?? []));
  return items.filter((item) => {
    if (item.messageId !== null) return !ids.has(item.messageId);
    const known = knownWhenPut.get(item.key);
    if (item.problem || !known) return true;
    const content = JSON.stringify(item.content);
    const same = asked.find(
      ({ id, content: said }) => !known.has(id) && !taken.has(id) && JSON.stringify(said) === content,
    );
    if (same) taken.add(same.id);
    return !same;
  });
}

/** The messages on their way to show, kept in step with the thread. */
export function useWaitingMessages(sessionId: string, thread: Thread, live: boolean): Outgoing[] {
  const outbox = useOutbox();
  const items = useOutgoing(sessionId);
  const asked = useAsked(thread);
  const known = useRef(new Map<string, ReadonlySet<string>>());
  if (live) {
    const ids = new Set(asked.map(({ id }) => id));
    for (const { key } of items) if (!known.current.has(key)) known.current.set(key, ids);
  }
  useEffect(() => {
    if (items.some(({ messageId }) => messageId !== null)) outbox.shown(new Set(asked.map(({ id }) => id)));
  }, [outbox, items, asked]);
  const waiting = useMemo(() => stillWaiting(items, asked, known.current), [items, asked]);
  return useMemo(() => [...joining(sessionId, thread, waiting), ...waiting], [sessionId, thread, waiting]);
}

/** What the server keeps for a run in progress and this page did not send. */
function joining(sessionId: string, { turns }: Thread, sent: readonly Outgoing[]): Outgoing[] {
  return turns.flatMap((turn) =>
    turn.joining
      .filter(({ id }) => !sent.some(({ messageId }) => messageId === id))
      .map(({ id, content, at }) => ({
        ...{ key: id, sessionId, content, at: at ?? 0, problem: null },
        ...{ messageId: id, runId: turn.runId, steer: true },
      })),
  );
}

/** What was asked in a thread: the same list as long as nothing is added to it. */
function useAsked(thread: Thread): Asked[] {
  const last = useRef<Asked[]>([]);
  return useMemo(() => {
    const asked = thread.turns.flatMap(saidIn);
    const same = asked.length === last.current.length && asked.every((each, at) => each === last.current[at]);
    if (!same) last.current = asked;
    return last.current;
  }, [thread]);
}
