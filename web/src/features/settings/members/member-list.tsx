/** Who is in the team, and what they may do there. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, data } from "@/api/client";
import { meQuery, WATCHED } from "@/api/queries";
import { invitationsQuery, membersQuery } from "@/api/team-queries";
import { useFresh } from "@/components/reauthentication";
import { useConfirm } from "@/components/ui/confirm";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import type { Me, MemberView, NewSignInLink } from "@/protocol/api";
import { MemberRow } from "./member-row";
import { type Role, rolesToGive, whyFixed } from "./role-rules";
import { SignInLinkDialog } from "./sign-in-link-dialog";

export function MemberList({ me }: { me: Me }): ReactNode {
  const members = useQuery({ ...membersQuery, ...WATCHED });
  const queryClient = useQueryClient();
  const fresh = useFresh();
  const confirm = useConfirm();
  const toast = useToast();
  const [busy, setBusy] = useState<string>();
  const [made, setMade] = useState<{ name: string; link: NewSignInLink }>();

  const change = async (member: MemberView, action: () => Promise<unknown>, done: string) => {
    setBusy(member.user);
    try {
      await fresh(action);
      toast.done(done);
    } catch (thrown) {
      toast.failed(thrown);
    }
    setBusy(undefined);
    await Promise.all(
      [membersQuery, invitationsQuery, ...(member.user === me.user ? [meQuery] : [])].map(({ queryKey }) =>
        queryClient.invalidateQueries({ queryKey }),
      ),
    );
  };
  const setRole = async (member: MemberView, role: Role) => {
    const less = member.user === me.user;
    const question = {
      title: less ? `Change your role to ${role}?` : `Change the role of ${member.name} to ${role}?`,
      message: less
        ? "You will have fewer permissions and cannot undo this yourself."
        : "This takes effect immediately, also for their open sessions and API keys.",
      action: "Change role",
      danger: less,
    };
    if (!(await confirm(question))) return;
    const call = { params: { path: { user: member.user } }, body: { role } };
    await change(member, () => api.PATCH("/api/members/{user}", call), `${member.name} is now ${role}.`);
  };
  const remove = async (member: MemberView) => {
    const myself = member.user === me.user;
    const question = {
      title: myself ? "Leave this team?" : `Remove ${member.name}?`,
      message: myself
        ? "You will be signed out of this team and need an invitation to rejoin."
        : "Their API keys and sessions end immediately. Their chats are kept if they rejoin.",
      action: myself ? "Leave" : "Remove",
      danger: true,
    };
    if (!(await confirm(question))) return;
    const call = { params: { path: { user: member.user } } };
    await change(member, () => api.DELETE("/api/members/{user}", call), `${member.name} was removed.`);
  };
  const makeLink = async ({ user, name }: MemberView) => {
    setBusy(user);
    try {
      const call = { params: { path: { user } } };
      setMade({ name, link: await fresh(() => data(api.POST("/api/members/{user}/sign-in-link", call))) });
    } catch (thrown) {
      toast.failed(thrown);
    }
    setBusy(undefined);
  };
  if (members.isPending) return <SkeletonRows rows={3} />;
  const problem = members.isError && (
    <ProblemNote problem={members.error} onRetry={() => void members.refetch()} />
  );
  if (!members.data) return problem;
  return (
    <>
      {problem}
      <ul className="divide-y divide-line rounded-2xl border border-line bg-raised">
        {members.data.map((member) => (
          <MemberRow
            key={member.user}
            member={member}
            isMe={member.user === me.user}
            roles={rolesToGive(me)}
            fixed={whyFixed(me, member, members.data)}
            busy={busy === member.user}
            onRole={(role) => void setRole(member, role)}
            onRemove={() => void remove(member)}
            onSignInLink={
              me.permissions.includes("own") && member.user !== me.user
                ? () => void makeLink(member)
                : undefined
            }
          />
        ))}
      </ul>
      {made && <SignInLinkDialog {...made} onClose={() => setMade(undefined)} />}
    </>
  );
}
