/** The parts of an answer, in order. */
import { memo, type ReactNode } from "react";
import { type Lazily, useLazily } from "@/components/markdown/lazily";
import { Markdown } from "@/components/markdown/markdown";
import { cx } from "@/lib/class-names";
import { type HandoffPart, type Part, subagentOf, type TextPart, type Turn } from "@/state/thread";
import { AskedContent } from "./asked-content";
import { stateOf, verdictOf } from "./call-state";
import { HIGHLIGHT } from "./looks";
import { Notice } from "./notice";
import { Reasoning } from "./reasoning";
import { SubagentCard } from "./subagent-card";
import { SystemMessage } from "./system-message";
import { ToolCard } from "./tool-card";

interface PartsProps {
  turn: Turn;
  parts: readonly Part[];
  live: boolean;
  /** The open questions are shown by themselves, with the calls they are about. */
  asks: boolean;
  highlighted?: string | undefined;
  /** Reasoning starts unfolded. */
  unfolded?: boolean;
}

export function Parts({ turn, parts: all, ...rest }: PartsProps): ReactNode {
  const parts = shownOf(all);
  return parts.map((part, at) => (
    <PartView
      key={`${part.kind}-${part.id}`}
      turn={turn}
      part={part}
      newest={rest.live && at === parts.length - 1}
      {...rest}
    />
  ));
}

/** All but the calls for which an agent or a handoff stands. */
function shownOf(parts: readonly Part[]): readonly Part[] {
  const told = new Set(
    parts.map((part) =>
      part.kind === "subagent" ? part.id : part.kind === "handoff" ? part.call : undefined,
    ),
  );
  if (told.size === 1 && told.has(undefined)) return parts;
  return parts.filter(({ kind, id }) => kind !== "call" || !(told.has(id) || told.has(subagentOf(id))));
}

interface PartViewProps extends Omit<PartsProps, "parts"> {
  part: Part;
  /** The run is live and this is its last part. */
  newest: boolean;
}

function PartView({ part, newest, ...rest }: PartViewProps): ReactNode {
  const { turn, live, asks, highlighted, unfolded } = rest;
  switch (part.kind) {
    case "text":
      return <Text part={part} live={newest} highlighted={part.id === highlighted} />;
    case "system":
      return <SystemMessage part={part} highlighted={part.id === highlighted} />;
    case "reasoning":
      return <Reasoning part={part} live={newest} unfolded={unfolded} />;
    case "call": {
      const state = stateOf(part, turn, live);
      if (asks && (state === "asking" || state === "needing")) return null;
      return <ToolCard call={part} state={state} verdict={verdictOf(part, turn)} />;
    }
    case "input":
      return (
        <article
          id={`message-${part.id}`}
          aria-label="You said"
          tabIndex={-1}
          className="my-4 flex scroll-mt-6 flex-col gap-1.5 outline-none"
        >
          <AskedContent content={part.content} className={part.id === highlighted && HIGHLIGHT} />
        </article>
      );
    case "notice":
      return <Notice part={part} over={!newest} />;
    case "handoff":
      return <Handoff part={part} />;
    case "subagent":
      return (
        <SubagentCard part={part} live={live}>
          {() => <Parts {...rest} parts={part.parts} live={live && part.status === "running"} />}
        </SubagentCard>
      );
  }
}

const MARK: Lazily<typeof import("./handoff-mark")> = { load: () => import("./handoff-mark") };

function Handoff({ part }: { part: HandoffPart }): ReactNode {
  const mark = useLazily(MARK, true);
  return mark && <mark.HandoffMark part={part} />;
}

interface TextProps {
  part: TextPart;
  live: boolean;
  highlighted: boolean;
}

const Text = memo(function Text({ part, live, highlighted }: TextProps): ReactNode {
  return (
    <div
      id={`message-${part.id}`}
      tabIndex={-1}
      className={cx("my-3 scroll-mt-6 rounded-lg outline-none", highlighted && HIGHLIGHT)}
    >
      <Markdown text={part.text} live={live} />
    </div>
  );
});
