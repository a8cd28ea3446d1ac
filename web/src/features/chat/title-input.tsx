/** A title while it is changed: Enter and leaving it keep it, Esc does not. */
import { type ReactNode, useEffect, useRef, useState } from "react";

interface TitleInputProps {
  title: string;
  onDone: (title: string | null) => void;
  className?: string;
}

const LONGEST = 200;

export function TitleInput({ title, onDone, className }: TitleInputProps): ReactNode {
  const [text, setText] = useState(title);
  const input = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => input.current?.select(), []);
  const done = (result: string | null) => {
    if (over.current) return;
    over.current = true;
    onDone(result);
  };
  return (
    <input
      ref={input}
      value={text}
      maxLength={LONGEST}
      aria-label="Chat title"
      onChange={(event) => setText(event.target.value)}
      onBlur={() => done(text)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") done(text);
        if (event.key !== "Escape") return;
        event.preventDefault();
        done(null);
      }}
      className={className}
    />
  );
}
