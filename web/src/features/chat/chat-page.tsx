/** The page of one chat; the one that begins a chat is beside it. */
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { SideSlot } from "@/components/side-slot";
import { Conversation } from "./conversation";
import { SESSION_SIDE } from "./session-side";

export function ChatPage(): ReactNode {
  const { sessionId } = useParams({ from: "/inside/chat/$sessionId" });
  const [tries, setTries] = useState(0);
  return (
    <>
      <SideSlot>{SESSION_SIDE}</SideSlot>
      <Conversation
        key={`${sessionId} ${tries}`}
        sessionId={sessionId}
        onReload={() => setTries((count) => count + 1)}
      />
    </>
  );
}
