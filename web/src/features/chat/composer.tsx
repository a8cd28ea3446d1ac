/** The box messages are written in, with the files that go with them. What is in it is kept until it is sent. */
import { ArrowUp, LoaderCircle, Paperclip, Square } from "lucide-react";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button, IconButton } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { Tooltip } from "@/components/ui/tooltip";
import { isAtWork } from "@/lib/at-work";
import { cx } from "@/lib/class-names";
import { COMMAND_KEY, useShortcut } from "@/lib/shortcuts";
import type { Content } from "@/protocol/commands";
import { AttachmentChip } from "./attachment-chip";
import { type Attached, contentOf, isTooLarge, useAttachments } from "./attachments";
import { hintOf } from "./composer-hint";
import { loadDraft, NO_DRAFT, saveDraft } from "./drafts";
import { useFileDrop } from "./file-drop";

export interface ComposerProps {
  /** The name its draft is kept under. */
  draft: string;
  placeholder: string;
  /** Takes the message over, for the answer that is being written if `steer`; if it throws, it stays in the box. */
  onSend: (content: Content, steer?: boolean) => Promise<void>;
  /** Something runs or waits: it can be stopped, and what is sent now waits behind it. */
  busy?: boolean;
  /** An answer is being written, which a message can join. */
  steerable?: boolean;
  stopping?: boolean;
  onStop?: () => void;
  /** Why nothing can be sent. */
  closed?: string | null;
  /** How often the user asked for it while it was shown: it takes the focus each time. */
  wishes?: number;
}

/** queue: when the answer is finished. steer: the answer takes it. */
type How = "queue" | "steer";

const LINES = 10;
const LAST = 1e9;

export const Composer = memo(function Composer(props: ComposerProps): ReactNode {
  const { draft, placeholder, onSend, busy = false, stopping = false, onStop, closed = null } = props;
  const { steerable = false, wishes = 0 } = props;
  const [begun] = useState(() => loadDraft(draft));
  const [text, setText] = useState(begun.text);
  const attachments = useAttachments(begun.files);
  const [sending, setSending] = useState(false);
  /** Sent while files were on their way: it goes when they are there. */
  const [wanted, setWanted] = useState<How | null>(null);
  const [unsent, setUnsent] = useState(begun.unsent === true);
  const [problem, setProblem] = useState<unknown>(null);
  const box = useRef<HTMLTextAreaElement>(null);
  const chooser = useRef<HTMLInputElement>(null);
  const underWay = useRef(false);
  const hintId = useId();

  const { items } = attachments;
  const files = items.flatMap(({ file }): Attached[] => (file ? [file] : []));
  const content = contentOf(trimmed(text), files);
  const written = text.trim() !== "";
  const waits = wanted !== null;
  const tooLarge = isTooLarge(content);
  const hint = hintOf({ closed, items, tooLarge, busy, written, wanted: waits, unsent });
  const ready = content.length > 0 && !sending && !hint?.blocks;
  const uploading = hint?.blocks === "for now";
  const joins = steerable && (ready || uploading);

  const kept = JSON.stringify({ text, files, unsent: waits || unsent });
  useEffect(() => saveDraft(draft, JSON.parse(kept)), [draft, kept]);
  useGrowth(box, text);

  const focus = useCallback(() => box.current?.focus(), []);
  /** Takes the focus after a possibly long wait, unless the user is in another control by then. */
  const comeBack = useCallback(() => {
    if (!isAtWork(box.current)) focus();
  }, [focus]);
  useEffect(() => {
    box.current?.setSelectionRange(LAST, LAST); // a draft is written on
    if (!matchMedia("(pointer: fine)").matches) return;
    if (wishes > 0) focus();
    else comeBack();
  }, [wishes, focus, comeBack]);
  useShortcut({ key: "/" }, focus);
  useShortcut(
    { key: "Escape", whileTyping: true },
    useCallback(() => {
      if (busy && !stopping && !isAtWork(box.current)) onStop?.();
    }, [busy, stopping, onStop]),
  );
  const { add } = attachments;
  const attach = useCallback(
    (given: Iterable<File>) => {
      add(given);
      setUnsent(false);
    },
    [add],
  );
  const dropping = useFileDrop(attach);

  const takeBack = () => {
    setWanted(null);
    setUnsent(false);
  };
  const send = async (how: How = "queue") => {
    if (uploading) {
      setWanted(how);
      focus();
    }
    if (!ready || underWay.current) return;
    underWay.current = true;
    takeBack();
    setSending(true);
    setProblem(null);
    try {
      await onSend(content, how === "steer" && steerable);
      saveDraft(draft, NO_DRAFT); // the page may be another one by now
      setText("");
      for (const { key } of items) attachments.remove(key); // not what was attached meanwhile
    } catch (thrown) {
      setProblem(thrown);
    } finally {
      underWay.current = false;
      setSending(false);
      comeBack();
    }
  };

  useEffect(() => {
    if (wanted === null || uploading) return;
    if (ready) void send(wanted);
    else setWanted(null);
  });

  const pressed = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    void send(event.ctrlKey || event.metaKey ? "steer" : "queue");
  };

  const pasted = (event: ClipboardEvent) => {
    const { files: given, types } = event.clipboardData;
    if (given.length === 0 || types.includes("text/plain")) return;
    event.preventDefault();
    attach(given);
  };

  return (
    <div className="flex flex-col gap-2">
      {problem !== null && <ProblemNote problem={problem} />}
      <div
        className={cx(
          "rounded-2xl border bg-raised shadow-sm transition-colors focus-within:border-accent",
          dropping ? "border-accent bg-accent-soft" : "border-strong-line/50",
        )}
      >
        {items.length > 0 && (
          <ul aria-label="Files" className="flex max-h-48 flex-wrap gap-2 overflow-y-auto px-3 pt-3">
            {items.map((item) => (
              <AttachmentChip
                key={item.key}
                item={item}
                onRemove={() => {
                  attachments.remove(item.key);
                  takeBack();
                }}
                onRetry={() => attachments.retry(item.key)}
              />
            ))}
          </ul>
        )}
        <textarea
          ref={box}
          rows={1}
          value={text}
          aria-label="Message"
          aria-describedby={hint ? hintId : undefined}
          placeholder={dropping ? "Drop the files here" : placeholder}
          onChange={(event) => {
            setText(event.target.value);
            takeBack();
          }}
          onKeyDown={pressed}
          onPaste={pasted}
          readOnly={sending}
          className="block w-full resize-none bg-transparent px-4 pt-3 pb-1 text-[0.9375rem] leading-6 outline-none placeholder:text-soft"
        />
        <div className="flex flex-wrap items-center gap-1.5 px-2 pb-2">
          <input
            ref={chooser}
            type="file"
            multiple
            hidden
            tabIndex={-1}
            aria-hidden
            onChange={(event) => {
              attach(event.target.files ?? []);
              event.target.value = "";
              focus();
            }}
          />
          <IconButton label="Attach files" className="mr-auto" onClick={() => chooser.current?.click()}>
            <Paperclip className="size-4" aria-hidden />
          </IconButton>
          <p
            id={hintId}
            role="status"
            className={cx(
              "min-w-0 flex-1 text-xs",
              joins && "max-sm:order-first max-sm:basis-full max-sm:px-2",
              hint?.blocks === true ? "text-warn" : "text-soft",
            )}
          >
            {stopping ? "Stopping…" : hint?.text}
          </p>
          {joins && (
            <Tooltip label={`Add to this answer (${COMMAND_KEY}+Enter)`}>
              <Button size="small" disabled={waits} onClick={() => void send("steer")}>
                Add to this answer
              </Button>
            </Tooltip>
          )}
          {busy && (
            <IconButton
              label={stopping ? "Stopping…" : "Stop (Esc)"}
              look="plain"
              className="rounded-full!"
              disabled={stopping}
              onClick={() => {
                onStop?.();
                focus();
              }}
            >
              {stopping ? (
                <LoaderCircle className="size-4 animate-spin" aria-hidden />
              ) : (
                <Square className="size-3.5 fill-current" aria-hidden />
              )}
            </IconButton>
          )}
          {(!busy || ready || uploading) && (
            <IconButton
              label={busy ? "Send when this answer finishes" : "Send"}
              look="primary"
              className="rounded-full!"
              disabled={!ready && (!uploading || waits)}
              onClick={() => void send()}
            >
              {sending || waits ? (
                <LoaderCircle className="size-4 animate-spin" aria-hidden />
              ) : (
                <ArrowUp className="size-4" aria-hidden />
              )}
            </IconButton>
          )}
        </div>
      </div>
    </div>
  );
});

/** Whether a key belongs to an input method that puts a character together. */
function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === 229;
}

/** A message without the empty lines around it; its first line keeps its indentation. */
function trimmed(text: string): string {
  return text.replace(/^(?:[^\S\n]*\n)+/, "").trimEnd();
}

/** Lets a box grow with its text, up to a number of lines. */
function useGrowth(box: React.RefObject<HTMLTextAreaElement | null>, text: string): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text decides the height
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    const line = Number.parseFloat(getComputedStyle(element).lineHeight) || 24;
    const highest = line * LINES + 16;
    element.style.height = `${Math.min(element.scrollHeight, highest)}px`;
    element.style.overflowY = element.scrollHeight > highest ? "auto" : "hidden";
  }, [box, text]);
}
