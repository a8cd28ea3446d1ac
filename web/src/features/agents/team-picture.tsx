/** A picture of the agents that can be reached from one: a tree of names, with what each line means. */
import { Link } from "@tanstack/react-router";
import { ArrowRight, Bot, CornerLeftUp, MessageCircleQuestion } from "lucide-react";
import type { ReactNode } from "react";
import { ScrollBox } from "@/components/markdown/scroll-box";
import { Badge } from "@/components/ui/badge";
import { FILTERS, MODES } from "@/lib/handoff-words";
import type { TeamNode } from "./team-tree";

/** What is wrong with an agent, so that runs go without it. */
const LEFT_OUT = {
  inactive: "Inactive: left out of runs",
  missing: "Deleted: left out of runs",
  beyond: "Left out: a team has 32 agents",
} as const;

interface TeamPictureProps {
  name: string;
  nodes: readonly TeamNode[];
  /** Makes the agents that the first one names buttons, which lead to their fields. */
  onPick?: (index: number) => void;
  /** Shows when the model uses each. */
  described?: boolean;
}

export function TeamPicture({ name, nodes, onPick, described = false }: TeamPictureProps): ReactNode {
  const first = name || "This agent";
  return (
    <ScrollBox
      label={`The team of ${first}`}
      className="overflow-x-auto rounded-xl border border-line bg-panel p-4"
    >
      <span className="inline-flex items-center gap-2 rounded-lg border border-accent bg-accent-soft px-2.5 py-1.5 text-sm font-medium text-accent-text">
        <Bot className="size-4 shrink-0" aria-hidden />
        <span className="wrap-anywhere">{first}</span>
      </span>
      <Branch nodes={nodes} from={first} onPick={onPick} described={described} />
      <p className="mt-4 flex flex-wrap gap-x-4 gap-y-1 text-xs text-soft" aria-hidden>
        <span className="inline-flex items-center gap-1.5">
          <ArrowRight className="size-3.5" /> hands over
        </span>
        <span className="inline-flex items-center gap-1.5">
          <MessageCircleQuestion className="size-3.5" /> asks like a tool
        </span>
        {hasRepeated(nodes) && (
          <span className="inline-flex items-center gap-1.5">
            <CornerLeftUp className="size-3.5" /> shown elsewhere in the picture
          </span>
        )}
      </p>
    </ScrollBox>
  );
}

function hasRepeated(nodes: readonly TeamNode[]): boolean {
  return nodes.some(({ state, inner }) => state === "repeated" || hasRepeated(inner));
}

interface BranchProps {
  nodes: readonly TeamNode[];
  from: string;
  onPick?: ((index: number) => void) | undefined;
  described: boolean;
}

function Branch({ nodes, from, onPick, described }: BranchProps): ReactNode {
  if (nodes.length === 0) return null;
  return (
    <ul className="ml-4">
      {nodes.map((node, at) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: an agent may stand here twice
          key={at}
          className="relative border-l border-strong-line/60 pt-2.5 pl-6 before:absolute before:top-0 before:-left-px before:h-[1.65rem] before:w-5 before:rounded-bl-lg before:border-b before:border-l before:border-strong-line/60 last:border-transparent"
        >
          <Node node={node} from={from} onPick={onPick && (() => onPick(at))} />
          {described && node.handoff.description && (
            <p className="mt-1 min-w-56 text-[0.8125rem] text-soft wrap-anywhere">
              {node.handoff.description}
            </p>
          )}
          <Branch nodes={node.inner} from={node.name} described={described} />
        </li>
      ))}
    </ul>
  );
}

const BOX =
  "inline-flex min-w-0 items-center gap-2 rounded-lg border border-line bg-raised px-2.5 py-1.5 text-left text-sm font-medium";

interface NodeProps {
  node: TeamNode;
  from: string;
  onPick: (() => void) | undefined;
}

function Node({ node, from, onPick }: NodeProps): ReactNode {
  const { handoff, state, name } = node;
  const { verb } = MODES[handoff.mode];
  const Icon = handoff.mode === "tool" ? MessageCircleQuestion : ArrowRight;
  const content = (
    <>
      <Icon className="size-4 shrink-0 text-soft" aria-hidden />
      <span className="wrap-anywhere">
        <span className="sr-only">
          {from} {verb}{" "}
        </span>
        {name || (node.agent ? "…" : "Choose an agent")}
        {state === "repeated" && <span className="sr-only">, shown elsewhere</span>}
      </span>
      {state === "repeated" && <CornerLeftUp className="size-3.5 shrink-0 text-soft" aria-hidden />}
    </>
  );
  return (
    <div className="flex min-w-40 flex-wrap items-center gap-x-2 gap-y-1">
      {onPick ? (
        <button type="button" title="Edit" className={`${BOX} hover:bg-hover`} onClick={onPick}>
          {content}
        </button>
      ) : state === "missing" ? (
        <span className={BOX}>{content}</span>
      ) : (
        <Link to="/agents/$agentId" params={{ agentId: node.agent }} className={`${BOX} hover:bg-hover`}>
          {content}
        </Link>
      )}
      {state in LEFT_OUT && <Badge tone="bad">{LEFT_OUT[state as keyof typeof LEFT_OUT]}</Badge>}
      {handoff.mode === "handoff" && handoff.filter !== "all" && (
        <span className="text-xs text-soft">sees {FILTERS[handoff.filter]}</span>
      )}
    </div>
  );
}
