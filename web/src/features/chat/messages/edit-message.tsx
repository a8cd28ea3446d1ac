/** A message being written anew, in its own place. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useKeptState } from "@/components/turn/kept-state";
import { Button } from "@/components/ui/button";
import { Textarea } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";

interface EditMessageProps {
  /** Of the message. */
  id: string;
  /** It was opened just now; what only came back onto the page leaves the focus where it is. */
  takesFocus: boolean;
  text: string;
  /** Whether it also has files, so that it may be without words. */
  hasFiles: boolean;
  onSend: (text: string) => Promise<void>;
  /** Sends it in a copy of the chat. */
  onSendElsewhere: (text: string) => Promise<void>;
  onCancel: () => void;
}

export function EditMessage(props: EditMessageProps): ReactNode {
  const { id, takesFocus, text, hasFiles, onSend, onSendElsewhere, onCancel } = props;
  const [draft, setDraft] = useKeptState(`edit ${id}`, text);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const element = area.current;
    if (!takesFocus || !element) return;
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
  }, [takesFocus]);
  const cancel = () => {
    setDraft(text);
    onCancel();
  };
  const empty = !draft.trim() && !hasFiles;
  const send = async (how: typeof onSend = onSend) => {
    if (empty || busy) return;
    setBusy(true);
    setProblem(null);
    try {
      await how(draft);
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
          if (event.key === "Escape") cancel();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
        }}
      />
      {problem !== null && <ProblemNote problem={problem} />}
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-40 flex-1 text-[0.8125rem] text-soft">
          Sending adds a new version. You can switch back at any time.
        </p>
        <div className="flex flex-wrap justify-end gap-2">
          <Button
            size="small"
            look="quiet"
            disabled={empty || busy}
            onClick={() => void send(onSendElsewhere)}
          >
            Continue in a new chat
          </Button>
          <Button size="small" onClick={cancel}>
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
