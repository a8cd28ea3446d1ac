/** What can be done to a chat from its place in the list and from its header. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useCallback } from "react";
import { api, data } from "@/api/client";
import { useConfirm } from "@/components/ui/confirm";
import { useToast } from "@/components/ui/toast";

interface SessionActions {
  rename: (title: string) => Promise<void>;
  /** Deletes it once that is confirmed, and leaves it if it is open. */
  remove: () => Promise<void>;
}

export function useSessionActions(sessionId: string, title: string): SessionActions {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const confirm = useConfirm();
  const toast = useToast();
  const open = useParams({ strict: false }).sessionId;
  const params = { path: { session_id: sessionId } };

  const { mutateAsync: change } = useMutation({
    mutationFn: (next: string) =>
      data(api.PATCH("/api/agent-sessions/{session_id}", { params, body: { title: next } })),
    onSuccess: () =>
      Promise.all([
        queryClient.invalidateQueries({ queryKey: ["sessions"] }),
        queryClient.invalidateQueries({ queryKey: ["session", sessionId] }),
      ]),
  });
  const { mutateAsync: erase } = useMutation({
    mutationFn: () => api.DELETE("/api/agent-sessions/{session_id}", { params }),
    onSuccess: async () => {
      if (open === sessionId) await navigate({ to: "/chat", search: {} });
      queryClient.removeQueries({ queryKey: ["session", sessionId] });
      await queryClient.invalidateQueries({ queryKey: ["sessions"] });
    },
  });

  const rename = useCallback(
    async (next: string) => {
      const wanted = next.trim();
      if (wanted && wanted !== title) await change(wanted).catch(toast.failed);
    },
    [change, title, toast],
  );
  const remove = useCallback(async () => {
    const sure = await confirm({
      title: "Delete this chat?",
      message: `“${title || "New chat"}” and all its messages will be permanently deleted. Active runs will be stopped.`,
      action: "Delete",
      danger: true,
    });
    if (sure) await erase().catch(toast.failed);
  }, [confirm, erase, title, toast]);
  return { rename, remove };
}
