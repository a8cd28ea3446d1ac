/** JSON to read: coloured by type, large values folded, copied whole. What is no JSON is shown as text. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { ScrollBox } from "@/components/markdown/scroll-box";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { cx } from "@/lib/class-names";
import { formatCounted } from "@/lib/format";
import { visible } from "@/lib/visible";
import { type JsonNode, printJson, readJson } from "./json-text";
import { PlainText } from "./plain-text";

interface JsonViewProps {
  /** The JSON text; numbers and repeated keys are shown as they stand in it. */
  text: string;
  /** What it is, for screen readers and for the button that copies it. */
  label: string;
}

/** Longer than this it is not taken apart, only shown. */
const LARGEST = 2_000_000;
const SHOWN_ENTRIES = 100;
/** That fit without scrolling. */
const SHOWN_LINES = 17;
const SHOWN_CHARS = 1_000;
/** A value with more inside than this begins folded. */
const UNFOLDED = 60;
const PLAIN_NAME = /^[\p{L}\p{N}_.$-]+$/u;

export function JsonView({ text, label }: JsonViewProps): ReactNode {
  const node = useMemo(() => {
    const reading = text.length <= LARGEST ? readJson(text) : null;
    return reading && "node" in reading ? reading.node : null;
  }, [text]);
  const content = useRef<HTMLDivElement>(null);
  const lines = useLines(content);
  const [whole, setWhole] = useState(false);
  return (
    <div className="relative rounded-lg border border-line bg-panel">
      <div className="absolute top-1 right-1 rounded-lg bg-panel">
        <CopyButton text={() => (node ? printJson(node) : text)} label={`Copy ${label.toLowerCase()}`} />
      </div>
      <ScrollBox
        label={label}
        className={cx(
          "overflow-auto py-2.5 pr-10 pl-3 font-mono text-[0.8125rem] leading-relaxed",
          !whole && "max-h-96",
        )}
      >
        <div ref={content}>{node ? <Value node={node} depth={0} /> : <PlainText text={visible(text)} />}</div>
      </ScrollBox>
      {lines > SHOWN_LINES && (
        <div className="flex items-center justify-between gap-3 border-t border-line py-1 pr-1 pl-3 text-xs text-soft">
          <span className={cx(!whole && "font-medium text-warn")}>
            {whole ? `${lines} lines` : `${lines} lines: scroll or show all to see the rest`}
          </span>
          <Button size="small" look="quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
            {whole ? "Show less" : "Show all"}
          </Button>
        </div>
      )}
    </div>
  );
}

/** How many lines something takes, as it is drawn now. */
function useLines(element: RefObject<HTMLElement | null>): number {
  const [lines, setLines] = useState(0);
  useEffect(() => {
    const drawn = element.current;
    if (!drawn) return undefined;
    const resized = new ResizeObserver(() =>
      setLines(Math.round(drawn.offsetHeight / Number.parseFloat(getComputedStyle(drawn).lineHeight)) || 0),
    );
    resized.observe(drawn);
    return () => resized.disconnect();
  }, [element]);
  return lines;
}

function Value({ node, depth, name }: { node: JsonNode; depth: number; name?: string }): ReactNode {
  const label = name === undefined ? null : <Name name={name} />;
  if (node.kind === "object" || node.kind === "array") {
    return <Branch node={node} depth={depth} label={label} />;
  }
  return (
    <div className="pl-4">
      {label}
      <Leaf node={node} />
    </div>
  );
}

type BranchNode = Extract<JsonNode, { kind: "object" | "array" }>;

function Branch({ node, depth, label }: { node: BranchNode; depth: number; label: ReactNode }): ReactNode {
  const entries: [string | undefined, JsonNode][] =
    node.kind === "object" ? node.entries : node.items.map((item) => [undefined, item]);
  const [open, setOpen] = useState(() => depth === 0 || sizeOf(node, UNFOLDED + 1) <= UNFOLDED);
  const [shown, setShown] = useState(SHOWN_ENTRIES);
  const [begin, end] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  if (entries.length === 0) {
    return (
      <div className="pl-4">
        {label}
        <span className="text-soft">{begin + end}</span>
      </div>
    );
  }
  const count = `${entries.length} ${entries.length === 1 ? "entry" : "entries"}`;
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="-ml-0.5 flex min-h-6 max-w-full min-w-6 items-center rounded text-left hover:bg-hover"
      >
        <ChevronRight
          className={cx("mr-0.5 size-3.5 shrink-0 text-soft transition-transform", open && "rotate-90")}
          aria-hidden
        />
        <span className="min-w-0">
          {label}
          <span className="text-soft">{open ? begin : `${begin} ${count} ${end}`}</span>
        </span>
      </button>
      {open && (
        <>
          <div className="ml-1.5 border-l border-line pl-1.5">
            {entries.slice(0, shown).map(([name, value], at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: names may come twice, places do not
              <Value key={at} node={value} depth={depth + 1} {...(name === undefined ? {} : { name })} />
            ))}
            {entries.length > shown && (
              <More onClick={() => setShown(shown + SHOWN_ENTRIES)}>{`${entries.length - shown} more`}</More>
            )}
          </div>
          <div className="pl-4 text-soft">{end}</div>
        </>
      )}
    </div>
  );
}

function Name({ name }: { name: string }): ReactNode {
  return (
    <>
      <span className="wrap-anywhere">{PLAIN_NAME.test(name) ? name : JSON.stringify(visible(name))}</span>
      <span className="text-soft">: </span>
    </>
  );
}

function Leaf({ node }: { node: Exclude<JsonNode, BranchNode> }): ReactNode {
  const [whole, setWhole] = useState(false);
  const text = useMemo(() => (node.kind === "string" ? visible(node.value) : node.raw), [node]);
  if (node.kind === "number") return <span className="text-warn">{text}</span>;
  if (node.kind === "word") return <span className="text-accent-text">{text}</span>;
  const cut = !whole && text.length > SHOWN_CHARS;
  return (
    <span className="whitespace-pre-wrap text-good wrap-anywhere">
      "{cut ? text.slice(0, SHOWN_CHARS) : text}"
      {cut && (
        <More onClick={() => setWhole(true)}>
          {formatCounted(text.length - SHOWN_CHARS, "more character")}
        </More>
      )}
    </span>
  );
}

function More({ onClick, children }: { onClick: () => void; children: string }): ReactNode {
  return (
    <button
      type="button"
      onClick={onClick}
      className="mx-1 rounded px-1 font-sans text-xs font-medium text-accent-text hover:bg-hover"
    >
      {children}
    </button>
  );
}

/** How many values are inside, counted up to a limit. */
function sizeOf(node: JsonNode, limit: number): number {
  const inside =
    node.kind === "object" ? node.entries.map(([, value]) => value) : node.kind === "array" ? node.items : [];
  let size = 1;
  for (const value of inside) {
    if (size >= limit) break;
    size += sizeOf(value, limit - size);
  }
  return size;
}
