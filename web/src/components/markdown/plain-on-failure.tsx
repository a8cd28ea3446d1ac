/** Shows a text as it is written where its Markdown cannot be drawn, so that one block never takes the page with it. */
import { Component, type ReactNode } from "react";
import { PlainText } from "@/components/json/plain-text";

interface PlainOnFailureProps {
  text: string;
  children: ReactNode;
}

/** Longer, or deeper in quotes and lists, no block is parsed. */
const LONGEST = 100_000;
const TOO_DEEP = /^(?:[ \t]*(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))){40}/m;

function isPlain(text: string): boolean {
  return text.length > LONGEST || TOO_DEEP.test(text);
}

export class PlainOnFailure extends Component<PlainOnFailureProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    const { text, children } = this.props;
    return this.state.failed || isPlain(text) ? <PlainText text={text} /> : children;
  }
}
