/** The team: its members, invitations, name and how long it keeps things. */
import { useQuery } from "@tanstack/react-query";
import { UserPlus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { meQuery, WATCHED } from "@/api/queries";
import { tenantQuery } from "@/api/team-queries";
import { Button } from "@/components/ui/button";
import { Card, Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import type { Me } from "@/protocol/api";
import { InvitationList } from "./invitation-list";
import { InviteDialog } from "./invite-dialog";
import { MemberList } from "./member-list";
import { NewTeam } from "./new-team";
import { TeamForm } from "./team-form";

/** The operator's own team, whose owners make others. */
const OPERATORS_TEAM = "default";

export function MembersSection({ me }: { me: Me }): ReactNode {
  const [inviting, setInviting] = useState(false);
  // One's own role may be changed meanwhile, too.
  useQuery({ ...meQuery, ...WATCHED });
  return (
    <Page
      title="Team and members"
      description="Who is in the team, and what they can do."
      actions={
        <Button look="primary" onClick={() => setInviting(true)}>
          <UserPlus className="size-4" aria-hidden /> Invite
        </Button>
      }
    >
      <div className="flex flex-col gap-8">
        <Part title="Members">
          <MemberList me={me} />
        </Part>
        <Part title="Invitations">
          <InvitationList />
        </Part>
        <Part title="Team">
          <Card>
            <Team />
          </Card>
        </Part>
        {me.permissions.includes("own") && me.tenant === OPERATORS_TEAM && (
          <Part title="Other teams">
            <NewTeam me={me} />
          </Part>
        )}
      </div>
      {inviting && <InviteDialog me={me} onClose={() => setInviting(false)} />}
    </Page>
  );
}

function Team(): ReactNode {
  const team = useQuery(tenantQuery);
  if (team.isPending) return <SkeletonRows rows={1} />;
  if (team.isError) return <ProblemNote problem={team.error} onRetry={() => void team.refetch()} />;
  return <TeamForm team={team.data} />;
}

function Part({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <section>
      <h2 className="mb-3 text-sm font-semibold">{title}</h2>
      {children}
    </section>
  );
}
