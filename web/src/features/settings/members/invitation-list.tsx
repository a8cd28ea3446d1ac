/** The team's invitations: pending ones can be revoked, the others show their outcome. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "@/api/client";
import { WATCHED } from "@/api/queries";
import { invitationsQuery, membersQuery } from "@/api/team-queries";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import { formatAgo, formatDay } from "@/lib/format";
import type { InvitationView } from "@/protocol/api";
import { stateOf } from "./invitation-state";

export function InvitationList(): ReactNode {
  const invitations = useQuery({ ...invitationsQuery, ...WATCHED });
  const members = useQuery(membersQuery);
  const queryClient = useQueryClient();
  const confirm = useConfirm();
  const toast = useToast();
  const nameOf = (user: string) => members.data?.find((member) => member.user === user)?.name ?? user;

  const takeBack = async ({ id }: InvitationView) => {
    const question = { title: "Revoke this invitation?", message: "Its link will stop working." };
    if (!(await confirm({ ...question, action: "Revoke", danger: true }))) return;
    try {
      await api.DELETE("/api/invitations/{invitation_id}", { params: { path: { invitation_id: id } } });
      toast.done("Invitation revoked");
    } catch (thrown) {
      toast.failed(thrown);
    }
    await queryClient.invalidateQueries(invitationsQuery);
  };
  if (invitations.isPending) return <SkeletonRows rows={2} />;
  const problem = invitations.isError && (
    <ProblemNote problem={invitations.error} onRetry={() => void invitations.refetch()} />
  );
  if (!invitations.data) return problem;
  const open = invitations.data.filter((one) => stateOf(one) === "open");
  const closed = invitations.data.filter((one) => stateOf(one) !== "open");
  const rows = (shown: InvitationView[]) => (
    <ul className="divide-y divide-line rounded-2xl border border-line bg-raised">
      {shown.map((one) => (
        <li key={one.id} className="flex flex-wrap items-center gap-3 px-4 py-3">
          <div className="min-w-0 flex-1 basis-48">
            <p className="flex flex-wrap items-center gap-2 text-sm font-medium wrap-anywhere">
              {one.email ?? "Anyone with the link"}
              <Badge>{one.role}</Badge>
              {stateOf(one) !== "open" && (
                <Badge tone={stateOf(one) === "accepted" ? "good" : "neutral"}>{stateOf(one)}</Badge>
              )}
            </p>
            <p className="text-[0.8125rem] text-soft wrap-anywhere">
              by {nameOf(one.invited_by)}, {formatAgo(one.created_at)}
              {one.accepted_by && ` · joined as ${nameOf(one.accepted_by)}`}
              {stateOf(one) === "open" && ` · until ${formatDay(one.expires_at)}`}
            </p>
          </div>
          {stateOf(one) === "open" && (
            <Button
              size="small"
              aria-label={`Revoke the invitation for ${one.email ?? "anyone with the link"}`}
              onClick={() => void takeBack(one)}
            >
              Revoke
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
  return (
    <>
      {problem}
      {open.length > 0 ? rows(open) : <p className="text-sm text-soft">No pending invitations.</p>}
      {closed.length > 0 && (
        <details className="mt-4">
          <summary className="text-sm text-soft hover:text-ink">Closed invitations ({closed.length})</summary>
          <div className="mt-3">{rows(closed)}</div>
        </details>
      )}
    </>
  );
}
