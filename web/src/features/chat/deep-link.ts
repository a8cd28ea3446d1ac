/**
 * An address that points to a message, or by its own id to a run, `#message-<id>@<run>`: goes there, to the branch it is on and over as many older
 * pages as it takes. The run may be left out.
 */

import { useLocation } from "@tanstack/react-router";
import type { Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { useToast } from "@/components/ui/toast";
import { MESSAGE_PREFIX } from "@/lib/message-hash";
import type { AgentStream } from "@/realtime/use-agent-stream";
import type { Part, Turn } from "@/state/thread";
import type { Row } from "./thread-rows";

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
  /** The run it is of; null if the address does not say. */
  run: string | null;
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
  /** Shows the branch that a run is on; says whether it was another. */
  show: (runId: string) => Promise<boolean>;
}

/** The message the address points to, once it is the address of this chat. */
export function useWantedMessage(sessionId: string): Wanted | null {
  const { pathname, hash } = useLocation();
  const isHere = pathname.split("/").includes(sessionId) && hash.startsWith(MESSAGE_PREFIX);
  const [id = null, run = null] = isHere ? hash.slice(MESSAGE_PREFIX.length).split("@") : [];
  const times = useSyncExternalStore(watch, () => (id === null ? 0 : followed.get(id)));
  // biome-ignore lint/correctness/useExhaustiveDependencies: each time is another
  return useMemo(() => (id === null ? null : { id, run }), [id, run, times]);
}

/** Goes to the wanted message once it is here; returns it while it is to be marked. */
export function useDeepLink({
  wanted,
  stream,
  rows,
  virtualizer,
  scroller,
  letGo,
  show,
}: Going): Highlighted | null {
  const toast = useToast();
  const lookedFor = useRef<Wanted | null>(null);
  const [looking, setLooking] = useState(false);
  const [reached, setReached] = useState<Wanted | null>(null);
  const [highlighted, setHighlighted] = useState<Highlighted | null>(null);
  const { older, loadingOlder, problem, loadOlder } = stream;

  useEffect(() => {
    if (wanted === null || wanted === reached || stream.phase !== "live") return;
    const index = rows.findIndex((row) => row.kind === "turn" && holds(row.turn, wanted.id));
    const row = rows[index];
    if (row?.kind === "turn") {
      setReached(wanted);
      setHighlighted({ runId: row.turn.runId, id: wanted.id });
      letGo();
      virtualizer.scrollToIndex(index, { align: "start" });
      bringIntoView(scroller, `${MESSAGE_PREFIX}${wanted.id}`, FRAMES);
    } else if (looking) {
      return;
    } else if (wanted.run !== null && lookedFor.current !== wanted) {
      lookedFor.current = wanted;
      setLooking(true);
      letGo();
      show(wanted.run)
        .catch((thrown) => {
          setReached(wanted);
          toast.failed(thrown);
        })
        .finally(() => setLooking(false));
    } else if (older) {
      if (!loadingOlder && !problem) void loadOlder();
    } else {
      setReached(wanted);
      toast.failed(new Error("The linked message is not in this chat."));
    }
  }, [
    wanted,
    reached,
    rows,
    stream.phase,
    looking,
    show,
    older,
    loadingOlder,
    problem,
    loadOlder,
    virtualizer,
    scroller,
    letGo,
    toast,
  ]);

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
  return turn.runId === id || turn.asked.some((asked) => asked.id === id) || hasPart(turn.parts, id);
}

function hasPart(parts: readonly Part[], id: string): boolean {
  return parts.some((part) => part.id === id || (part.kind === "subagent" && hasPart(part.parts, id)));
}
