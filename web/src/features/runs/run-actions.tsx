/** What the owner of a run can do with it: stop it, open its chat. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { MessageSquare, Square } from "lucide-react";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { Button, buttonClass } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { useToast } from "@/components/ui/toast";
import type { RunView } from "@/protocol/api";
import { isGoingOn } from "./run-queries";

export function RunActions({ run }: { run: RunView }): ReactNode {
  const confirm = useConfirm();
  const toast = useToast();
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api.POST("/api/runs/{run_id}/cancel", { params: { path: { run_id: run.id } } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["runs"] }),
    onError: toast.failed,
  });
  const ask = async () => {
    const sure = await confirm({
      title: "Stop this run?",
      message: "The run stops now. Its messages are kept; completed tool calls are not undone.",
      action: "Stop the run",
      refusal: "Keep running",
      danger: true,
    });
    if (sure) cancel.mutate();
  };
  return (
    <>
      {isGoingOn(run) && (
        <Button busy={cancel.isPending || run.cancel_requested} onClick={() => void ask()}>
          <Square className="size-4" aria-hidden />
          {run.cancel_requested ? "Stopping" : "Stop run"}
        </Button>
      )}
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: run.session_id }}
        hash={`message-${run.id}@${run.id}`}
        className={buttonClass()}
      >
        <MessageSquare className="size-4" aria-hidden />
        Open in chat
      </Link>
    </>
  );
}
