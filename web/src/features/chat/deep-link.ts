/** An address that points to a message, `#message-<id>`: goes there, over as many older pages as it takes. */

import { useLocation } from "@tanstack/react-router";
import type { Virtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useState } from "react";
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

interface Going {
  wanted: string | null;
  stream: AgentStream;
  rows: readonly Row[];
  virtualizer: Virtualizer<HTMLDivElement, Element>;
  scroller: RefObject<HTMLDivElement | null>;
  /** Lets go of the end of the thread. */
  letGo: () => void;
}

/** The message the address points to. */
export function useWantedMessage(): string | null {
  const { hash } = useLocation();
  return hash.startsWith(PREFIX) ? hash.slice(PREFIX.length) : null;
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
  const [reached, setReached] = useState<string | null>(null);
  const [highlighted, setHighlighted] = useState<Highlighted | null>(null);
  const { older, loadingOlder, problem, loadOlder } = stream;

  useEffect(() => {
    if (wanted === null || wanted === reached) return;
    const index = rows.findIndex((row) => row.kind === "turn" && holds(row.turn, wanted));
    const row = rows[index];
    if (row?.kind === "turn") {
      setReached(wanted);
      setHighlighted({ runId: row.turn.runId, id: wanted });
      letGo();
      virtualizer.scrollToIndex(index, { align: "start" });
      bringIntoView(scroller, `${PREFIX}${wanted}`, FRAMES);
    } else if (older) {
      if (!loadingOlder && !problem) void loadOlder();
    } else {
      setReached(wanted);
      toast.failed(new Error("The message this address points to is not in this chat."));
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
  if (element) element.scrollIntoView({ block: "center" });
  else if (frames > 0) requestAnimationFrame(() => bringIntoView(scroller, id, frames - 1));
}

export function holds(turn: Turn, id: string): boolean {
  return turn.asked.some((asked) => asked.id === id) || hasPart(turn.parts, id);
}

function hasPart(parts: readonly Part[], id: string): boolean {
  return parts.some((part) => part.id === id || (part.kind === "subagent" && hasPart(part.parts, id)));
}
