/** An address that points to a message, `#message-<id>`: goes there, over as many older pages as it takes. */

import { useLocation } from "@tanstack/react-router";
import type { Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useToast } from "@/components/ui/toast";
import type { AgentStream } from "@/realtime/use-agent-stream";
import type { Part, Turn } from "@/state/thread";
import type { Row } from "./thread-rows";

const PREFIX = "message-";
const SHOWN_MS = 4_000;
/** How many frames to wait for the message to be on the page. */
const FRAMES = 30;

interface Highlighted {
  runId: string;
  id: string;
}

/** A message an address points to. A new one each time the way there is taken: a link may be followed twice. */
export interface Wanted {
  id: string;
}

/** How often links to a message were followed; the router does not tell of one to where one is. */
const followed = new Map<string, number>();
const watchers = new Set<() => void>();

/** Says that a link to a message was followed, so that the page goes there again if it is there already. */
export function followMessage(id: string): void {
  followed.set(id, (followed.get(id) ?? 0) + 1);
  for (const watcher of watchers) watcher();
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

interface Going {
  wanted: Wanted | null;
  stream: AgentStream;
  rows: readonly Row[];
  virtualizer: Virtualizer<HTMLDivElement, Element>;
  scroller: RefObject<HTMLDivElement | null>;
  /** Lets go of the end of the thread. */
  letGo: () => void;
}

/** The message the address points to, once it is the address of this chat. */
export function useWantedMessage(sessionId: string): Wanted | null {
  const { pathname, hash } = useLocation();
  const isHere = pathname.split("/").includes(sessionId) && hash.startsWith(PREFIX);
  const id = isHere ? hash.slice(PREFIX.length) : null;
  const times = useSyncExternalStore(watch, () => (id === null ? 0 : followed.get(id)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each time is another
  return useMemo(() => (id === null ? null : { id }), [id, times]);
}

/** Goes to the wanted message once it is here; returns it while it is to be marked. */
export function useDeepLink({
  wanted,
  stream,
  rows,
  virtualizer,
  scroller,
  letGo,
}: Going): Highlighted | null {
  const toast = useToast();
  const [reached, setReached] = useState<Wanted | null>(null);
  const [highlighted, setHighlighted] = useState<Highlighted | null>(null);
  const { older, loadingOlder, problem, loadOlder } = stream;

  useEffect(() => {
    if (wanted === null || wanted === reached) return;
    const index = rows.findIndex((row) => row.kind === "turn" && holds(row.turn, wanted.id));
    const row = rows[index];
    if (row?.kind === "turn") {
      setReached(wanted);
      setHighlighted({ runId: row.turn.runId, id: wanted.id });
      letGo();
      virtualizer.scrollToIndex(index, { align: "start" });
      bringIntoView(scroller, `${PREFIX}${wanted.id}`, FRAMES);
    } else if (older) {
      if (!loadingOlder && !problem) void loadOlder();
    } else {
      setReached(wanted);
      toast.failed(new Error("The linked message is not in this chat."));
    }
  }, [wanted, reached, rows, older, loadingOlder, problem, loadOlder, virtualizer, scroller, letGo, toast]);

  useEffect(() => {
    if (!highlighted) return undefined;
    const timer = setTimeout(() => setHighlighted(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [highlighted]);
  return highlighted;
}

/** Scrolls to an element once it is on the page. */
function bringIntoView(scroller: RefObject<HTMLDivElement | null>, id: string, frames: number): void {
  const element = scroller.current?.querySelector(`#${CSS.escape(id)}`);
  const fits = element && element.clientHeight < (scroller.current?.clientHeight ?? 0);
  if (element) element.scrollIntoView({ block: fits ? "center" : "start" });
  else if (frames > 0) requestAnimationFrame(() => bringIntoView(scroller, id, frames - 1));
}

export function holds(turn: Turn, id: string): boolean {
  return turn.asked.some((asked) => asked.id === id) || hasPart(turn.parts, id);
}

function hasPart(parts: readonly Part[], id: string): boolean {
  return parts.some((part) => part.id === id || (part.kind === "subagent" && hasPart(part.parts, id)));
}
