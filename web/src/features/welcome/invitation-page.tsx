/** The page an invitation's link leads to. Its token is behind the #, where no server on the way sees it. */
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api, data } from "@/api/client";
import { problemOf } from "@/api/problem";
import { buttonClass } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { formatMoment } from "@/lib/format";
import { tokenOf } from "./invitation-token";
import { JoinTeam } from "./join-team";
import { Notice, WelcomeCard } from "./welcome-card";

const ROLES = { owner: "an owner", admin: "an admin", member: "a member" } as const;

export function InvitationPage(): ReactNode {
  const token = tokenOf(useLocation().hash);
  const offer = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => data(api.GET("/api/invitations/open", { params: { query: { token } } })),
    enabled: token !== "",
    // Each attempt counts against guessing, so there are no automatic retries.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  if (token === "")
    return (
      <Over title="Incomplete link">
        An invitation link ends with # and a long code. Copy the whole link and open it again.
      </Over>
    );
  if (offer.isPending)
    return (
      <WelcomeCard title="Invitation" description="Loading your invitation…">
        <SkeletonRows rows={3} className="h-9" />
      </WelcomeCard>
    );
  if (offer.isError) {
    if (problemOf(offer.error).code === "invitation_not_found")
      return (
        <Over title="Invitation no longer valid">
          It was already used, revoked, or has expired. Ask the sender for a new one.
        </Over>
      );
    return (
      <WelcomeCard title="Invitation">
        <ProblemNote problem={offer.error} onRetry={() => void offer.refetch()} />
      </WelcomeCard>
    );
  }
  const { team, role, invited_by, expires_at } = offer.data;
  return (
    <WelcomeCard
      title={`Join ${team}`}
      description={`${invited_by} invited you to join ${team} as ${ROLES[role]}.`}
      below={`The invitation works only once and expires on ${formatMoment(expires_at)}.`}
    >
      <JoinTeam
        key={token}
        token={token}
        offer={offer.data}
        onSignedIn={async () => {
          await offer.refetch();
        }}
      />
    </WelcomeCard>
  );
}

function Over({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <WelcomeCard title={title}>
      <Notice warn>{children}</Notice>
      <p className="text-center text-sm text-soft">Already a member?</p>
      <a href="/sign-in" className={buttonClass("plain")}>
        Sign in
      </a>
    </WelcomeCard>
  );
}
