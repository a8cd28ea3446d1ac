/** Makes a memory of what the person said in a message. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { refreshMemories } from "@/api/memory-queries";
import { sessionQuery } from "@/api/queries";
import { MemoryDialog } from "@/components/memory/memory-dialog";
import { bodyOf, type MemoryValues, NEW_MEMORY } from "@/components/memory/memory-form";
import { MAX_MEMORY_CHARS } from "@/components/memory/memory-words";
import { useToast } from "@/components/ui/toast";

interface RememberMessageProps {
  sessionId: string;
  messageId: string;
  text: string;
  onClose: () => void;
}

export function RememberMessage({ sessionId, messageId, text, onClose }: RememberMessageProps): ReactNode {
  const session = useQuery(sessionQuery(sessionId)).data;
  const queryClient = useQueryClient();
  const toast = useToast();
  if (!session) return null;
  const add = async (values: MemoryValues) => {
    const source = { session_id: sessionId, message_id: messageId };
    await api.POST("/api/agents/{agent_id}/memories", {
      params: { path: { agent_id: session.agent_id } },
      body: { ...bodyOf(values), source },
    });
    toast.done("Remembered.");
    await refreshMemories(queryClient);
  };
  const content = [...text.trim()].slice(0, MAX_MEMORY_CHARS).join("");
  return (
    <MemoryDialog
      title="Remember this"
      action="Remember"
      initial={{ ...NEW_MEMORY, agent_id: session.agent_id, content }}
      onSave={add}
      onClose={onClose}
    />
  );
}
