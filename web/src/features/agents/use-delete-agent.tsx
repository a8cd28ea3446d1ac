/** Deletes an agent, after asking and saying what becomes of its chats. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "@/api/client";
import { agentsQuery } from "@/api/queries";
import { useConfirm } from "@/components/ui/confirm";
import { useToast } from "@/components/ui/toast";
import type { AgentView } from "@/protocol/api";

/** Resolves to whether it was deleted. */
export function useDeleteAgent(): (agent: AgentView) => Promise<boolean> {
  const confirm = useConfirm();
  const toast = useToast();
  const queryClient = useQueryClient();
  const { mutateAsync } = useMutation({
    mutationFn: (agentId: string) =>
      api.DELETE("/api/agents/{agent_id}", { params: { path: { agent_id: agentId } } }),
    onSettled: () => queryClient.invalidateQueries({ ...agentsQuery, exact: true }),
  });
  return async (agent) => {
    const sure = await confirm({
      title: `Delete ${agent.name}?`,
      message: "Everyone can still read their chats with it, but not continue them. You cannot undo this.",
      action: "Delete agent",
      danger: true,
    });
    if (!sure) return false;
    try {
      await mutateAsync(agent.id);
      toast.done(`${agent.name} was deleted.`);
      return true;
    } catch (thrown) {
      toast.failed(thrown);
      return false;
    }
  };
}
