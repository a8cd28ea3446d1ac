import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function NewChatPage(): ReactNode {
  return <Page title="Chat">{null}</Page>;
}

export function ChatPage(): ReactNode {
  return <Page title="Chat">{null}</Page>;
}
