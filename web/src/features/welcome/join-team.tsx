/** The ways into a team one is invited to: as who is signed in, with a new account, or by signing in first. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { type Problem, problemOf } from "@/api/problem";
import { signInMethodsQuery } from "@/api/team-queries";
import { Button } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { Tabs } from "@/components/ui/tabs";
import type { InvitationOffer } from "@/protocol/api";
import { AccountForm, type NewAccount } from "./account-form";
import { keepInvitation } from "./invitation-token";
import { ProviderButtons } from "./provider-buttons";
import { SignInForm } from "./sign-in-form";
import { Notice, Or } from "./welcome-card";

interface JoinTeamProps {
  token: string;
  offer: InvitationOffer;
  /** The user signed in here, so that the offer now knows them. */
  onSignedIn: () => Promise<void>;
}

export function JoinTeam({ token, offer, onSignedIn }: JoinTeamProps): ReactNode {
  const methods = useQuery(signInMethodsQuery);
  const [another, setAnother] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const join = async (account: Partial<NewAccount> = {}) => {
    await api.POST("/api/invitations/accept", { body: { token, ...account } });
    location.assign("/");
  };
  const joinAsMyself = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      await join();
    } catch (thrown) {
      setProblem(problemOf(thrown));
      setBusy(false);
    }
  };
  const joinAfterSignIn = async () => {
    try {
      await join();
    } catch (thrown) {
      setProblem(problemOf(thrown));
      setAnother(false);
      await onSignedIn();
    }
  };
  const { signed_in_as: me, email } = offer;
  if (me !== null && !another)
    return (
      <>
        {problem && <ProblemNote problem={problem} />}
        {email !== null && email !== me && !problem && (
          <Notice warn>
            The invitation is for {email}, and you are signed in as {me}.
          </Notice>
        )}
        {problem?.code === "already_member" ? (
          <Button look="primary" onClick={() => location.assign("/")}>
            Go to chat
          </Button>
        ) : (
          <Button look="primary" busy={busy} onClick={() => void joinAsMyself()}>
            <span className="truncate">Join as {me}</span>
          </Button>
        )}
        <Button look="quiet" onClick={() => setAnother(true)}>
          Use another account
        </Button>
      </>
    );
  const providers = methods.data?.providers ?? [];
  return (
    <>
      <Tabs
        label="How to join"
        tabs={[
          {
            id: "new",
            title: "I am new here",
            content: <AccountForm email={email} action="Create account and join" onSend={join} />,
          },
          {
            id: "known",
            title: "I have an account",
            content: (
              <SignInForm email={email ?? undefined} action="Sign in and join" onSignedIn={joinAfterSignIn} />
            ),
          },
        ]}
      />
      {providers.length > 0 && <Or />}
      <ProviderButtons
        providers={providers}
        given={{ return_to: "/", invitation: token }}
        onLeave={() => keepInvitation(token)}
      />
      {me !== null && (
        <Button look="quiet" onClick={() => setAnother(false)}>
          Back to joining as {me}
        </Button>
      )}
    </>
  );
}
