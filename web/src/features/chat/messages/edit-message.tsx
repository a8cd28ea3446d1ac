/** A message being written anew, in its own place. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Textarea } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";

interface EditMessageProps {
  text: string;
  /** Whether it also has files, so that it may be without words. */
  hasFiles: boolean;
  onSend: (text: string) => Promise<void>;
  onCancel: () => void;
}

export function EditMessage({ text, hasFiles, onSend, onCancel }: EditMessageProps): ReactNode {
  const [draft, setDraft] = useState(text);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const element = area.current;
    element?.focus();
    element?.setSelectionRange(element.value.length, element.value.length);
  }, []);
  const empty = !draft.trim() && !hasFiles;
  const send = async () => {
    if (empty || busy) return;
    setBusy(true);
    setProblem(null);
    try {
      await onSend(draft);
    } catch (thrown) {
      setProblem(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="flex w-full flex-col gap-2 rounded-2xl border border-line bg-panel p-3"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Textarea
        ref={area}
        value={draft}
        rows={Math.min(12, Math.max(3, draft.split("\n").length))}
        aria-label="Edit your message"
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Escape") onCancel();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
        }}
      />
      {problem !== null && <ProblemNote problem={problem} />}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-40 flex-1 text-[0.8125rem] text-soft">
          This goes on in a copy of the chat; here everything stays as it is.
        </p>
        <div className="flex gap-2">
          <Button size="small" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" size="small" look="primary" busy={busy} disabled={empty}>
            Send
          </Button>
        </div>
      </div>
    </form>
  );
}
