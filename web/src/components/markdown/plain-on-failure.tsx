/** Shows a text as it is written where its Markdown cannot be drawn, so that one block never takes the page with it. */
import { Component, type ReactNode } from "react";
import { PlainText } from "@/components/json/plain-text";

interface PlainOnFailureProps {
  text: string;
  children: ReactNode;
}

export class PlainOnFailure extends Component<PlainOnFailureProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    const { text, children } = this.props;
    return this.state.failed ? <PlainText text={text} /> : children;
  }
}
