/** Where a message to the tried agent is written; Enter sends, Shift+Enter is a new line. */
import { ArrowUp, Square } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { IconButton } from "@/components/ui/button";
import { Textarea } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";

interface TryComposerProps {
  disabled: boolean;
  placeholder: string;
  problem: unknown;
  sending: boolean;
  running: boolean;
  stopping: boolean;
  /** Resolves to whether it was taken; what was not stays in the box. */
  onSend: (text: string) => Promise<boolean>;
  onStop: () => void;
}

export function TryComposer(props: TryComposerProps): ReactNode {
  const { disabled, placeholder, problem, sending, running, stopping, onSend, onStop } = props;
  const [text, setText] = useState("");
  const send = async () => {
    const words = text.trim();
    if (!words || sending || running || disabled) return;
    setText("");
    if (!(await onSend(words))) setText((written) => written || words);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    <div className="border-t border-line p-3">
      {problem ? (
        <div className="mb-2">
          <ProblemNote problem={problem} />
        </div>
      ) : null}
      <div className="flex items-end gap-2">
        <Textarea
          aria-label="Test message"
          rows={1}
          className="field-sizing-content resize-none max-h-32 min-h-9! flex-1 py-1.5!"
          placeholder={placeholder}
          disabled={disabled}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        {running ? (
          <IconButton label="Stop" look="plain" size="medium" busy={stopping} onClick={onStop}>
            {!stopping && <Square className="size-3.5 fill-current" aria-hidden />}
          </IconButton>
        ) : (
          <IconButton
            label="Send"
            look="primary"
            size="medium"
            busy={sending}
            disabled={disabled || text.trim() === ""}
            onClick={() => void send()}
          >
            {!sending && <ArrowUp className="size-4" aria-hidden />}
          </IconButton>
        )}
      </div>
    </div>
  );
}
