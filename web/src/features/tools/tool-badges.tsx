/** What a tool does and whether it asks, in a word each, with what that means. */
import type { ReactNode } from "react";
import { Badge, type Tone } from "@/components/ui/badge";
import { Tooltip } from "@/components/ui/tooltip";
import { APPROVALS, EFFECTS, type Effect } from "@/lib/tool-words";
import type { AgentToolDetails } from "@/protocol/api";

const TONES: Record<Effect, Tone> = { read: "neutral", idempotent: "neutral", once: "warn" };

export function EffectBadge({ effect }: Pick<AgentToolDetails, "effect">): ReactNode {
  return <Explained tone={TONES[effect]} {...EFFECTS[effect]} />;
}

export function ApprovalBadge({ approval }: Pick<AgentToolDetails, "approval">): ReactNode {
  return <Explained tone={approval === "ask" ? "accent" : "neutral"} {...APPROVALS[approval]} />;
}

function Explained({ tone, title, meaning }: { tone: Tone; title: string; meaning: string }): ReactNode {
  return (
    <Tooltip label={meaning}>
      <button type="button" className="relative inline-flex min-h-6 cursor-help items-center rounded-full">
        <Badge tone={tone}>{title}</Badge>
      </button>
    </Tooltip>
  );
}
