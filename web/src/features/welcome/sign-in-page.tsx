/** The sign-in page: email and password, or a provider; and why the user is here. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { meQuery } from "@/api/queries";
import { signInMethodsQuery } from "@/api/team-queries";
import { buttonClass } from "@/components/ui/button";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { takeSignedOut } from "@/lib/signed-out";
import { type DocumentProblem, useDocumentProblem } from "./document-problem";
import { keepInvitation, keptInvitation } from "./invitation-token";
import { ProviderButtons } from "./provider-buttons";
import { safeReturnTo } from "./return-to";
import { SignInForm } from "./sign-in-form";
import { TurnedBack } from "./turned-back";
import { Notice, Or, WelcomeCard, Words } from "./welcome-card";

export function SignInPage(): ReactNode {
  const given = useDocumentProblem();
  const [another, setAnother] = useState(false);
  if (given?.signedIn && !another) return <TurnedBack given={given} onAnother={() => setAnother(true)} />;
  return <SignIn given={another ? undefined : given} another={another} />;
}

interface SignInProps {
  given: DocumentProblem | undefined;
  /** The user wants to sign in with another account. */
  another: boolean;
}

function SignIn({ given, another }: SignInProps): ReactNode {
  const methods = useQuery(signInMethodsQuery);
  const { return_to } = useSearch({ strict: false });
  const returnTo = given?.returnTo ?? safeReturnTo(return_to);
  const wasIn = useWasSignedIn();
  const invitation = keptInvitation();
  const providers = methods.data?.providers ?? [];
  const noAccounts = methods.data && !methods.data.password && providers.length === 0;
  // A user who was refused or signed out is asked again at the provider, not signed in silently.
  const anew = given || another || wasIn ? { anew: "true" } : {};
  return (
    <WelcomeCard title="Sign in to agio" below={<Trouble />}>
      {given && (
        <Notice warn>
          <Words text={given.problem.message} />
        </Notice>
      )}
      {given && invitation && (
        <a href={`/invitation#${encodeURIComponent(invitation)}`} className={buttonClass("plain")}>
          Back to the invitation
        </a>
      )}
      {!given && wasIn && (
        <Notice>
          You've signed out.
          {providers.length > 0 &&
            ` At ${providers.map(({ name }) => name).join(" or ")} you may still be signed in. Sign out there too if others use this browser.`}
        </Notice>
      )}
      {!given && !wasIn && !another && returnTo !== "/" && <Notice>Sign in to continue.</Notice>}
      {methods.isPending && <SkeletonRows rows={3} className="h-9" />}
      {methods.isError && <ProblemNote problem={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.data?.password && <SignInForm onSignedIn={() => location.assign(returnTo)} />}
      {methods.data?.password && providers.length > 0 && <Or />}
      <ProviderButtons
        providers={providers}
        given={{ return_to: returnTo, ...anew }}
        onLeave={() => keepInvitation(null)}
      />
      {noAccounts && (
        <p className="text-sm text-soft">
          There are no accounts yet. Open the sign-in link that the server printed when it started, or create
          a new one on the server: <code className="font-mono text-ink">agio keys sign-in --user local</code>.
        </p>
      )}
    </WelcomeCard>
  );
}

/** Whether a user was signed in, in this tab, before. */
function useWasSignedIn(): boolean {
  const queryClient = useQueryClient();
  const [was] = useState(() =>
    [takeSignedOut(), queryClient.getQueryData(meQuery.queryKey) !== undefined].includes(true),
  );
  return was;
}

function Trouble(): ReactNode {
  return (
    <details>
      <summary className="rounded-md hover:text-ink">Trouble signing in?</summary>
      <p className="mt-2">
        Ask an owner of your team for a one-time sign-in link. On the server,{" "}
        <code className="font-mono text-ink">agio keys sign-in --user EMAIL</code> creates one.
      </p>
    </details>
  );
}
