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

interface DeepLink {
  highlighted: { runId: string; id: string } | null;
  /** The address points to a message that was not gone to yet. */
  linked: boolean;
}

export function useDeepLink(
  stream: AgentStream,
  rows: readonly Row[],
  virtualizer: Virtualizer<HTMLDivElement, Element>,
  scroller: RefObject<HTMLDivElement | null>,
): DeepLink {
  const { hash } = useLocation();
  const wanted = hash.startsWith(PREFIX) ? hash.slice(PREFIX.length) : null;
  const toast = useToast();
  const [reached, setReached] = useState<string | null>(null);
  const [highlighted, setHighlighted] = useState<DeepLink["highlighted"]>(null);
  const { older, loadingOlder, problem, loadOlder } = stream;
  const linked = wanted !== null && wanted !== reached;

  useEffect(() => {
    if (!linked || wanted === null) return;
    const index = rows.findIndex((row) => row.kind === "turn" && holds(row.turn, wanted));
    const row = rows[index];
    if (row?.kind === "turn") {
      setReached(wanted);
      setHighlighted({ runId: row.turn.runId, id: wanted });
      virtualizer.scrollToIndex(index, { align: "start" });
      bringIntoView(scroller, `${PREFIX}${wanted}`, FRAMES);
    } else if (older) {
      if (!loadingOlder && !problem) void loadOlder();
    } else {
      setReached(wanted);
      toast.failed(new Error("The message this address points to is not in this chat."));
    }
  }, [linked, wanted, rows, older, loadingOlder, problem, loadOlder, virtualizer, scroller, toast]);

  useEffect(() => {
    if (!highlighted) return undefined;
    const timer = setTimeout(() => setHighlighted(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [highlighted]);
  return { highlighted, linked };
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
