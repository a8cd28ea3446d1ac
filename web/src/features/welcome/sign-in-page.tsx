/** The page for whoever is not signed in: e-mail and password, or somewhere else; and why one is here. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { meQuery, signInMethodsQuery } from "@/lib/queries";
import { takeSignedOut } from "@/lib/signed-out";
import { ProviderButtons } from "./provider-buttons";
import { safeReturnTo } from "./return-to";
import { SignInForm } from "./sign-in-form";
import { useToldProblem } from "./told-problem";
import { Notice, Or, WelcomeCard } from "./welcome-card";

export function SignInPage(): ReactNode {
  const methods = useQuery(signInMethodsQuery);
  const told = useToldProblem();
  const { return_to } = useSearch({ strict: false });
  const returnTo = safeReturnTo(return_to);
  const wasIn = useWasSignedIn();
  const nobody = methods.data && !methods.data.password && methods.data.providers.length === 0;
  return (
    <WelcomeCard
      title="Sign in to agio"
      below={
        <>
          {told && (
            <p className="mb-3">
              Signed in already?{" "}
              <a href="/" className="text-accent-text underline">
                Go to the chat
              </a>
            </p>
          )}
          <Trouble />
        </>
      }
    >
      {told && (
        <Notice warn>
          <Words text={told.message} />
        </Notice>
      )}
      {!told && wasIn && <Notice>You were signed out.</Notice>}
      {!told && !wasIn && returnTo !== "/" && <Notice>Sign in to go on to where you were.</Notice>}
      {methods.isPending && <SkeletonRows rows={3} className="h-9" />}
      {methods.isError && <ProblemNote problem={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.data?.password && <SignInForm onSignedIn={() => location.assign(returnTo)} />}
      {methods.data?.password && methods.data.providers.length > 0 && <Or />}
      {methods.data && <ProviderButtons providers={methods.data.providers} given={{ return_to: returnTo }} />}
      {nobody && (
        <p className="text-sm text-soft">
          Nobody has an account here yet. Open the sign-in link that the server printed when it started, or
          make a new one with <code className="font-mono text-ink">agio keys sign-in</code>.
        </p>
      )}
    </WelcomeCard>
  );
}

/** Whether somebody was signed in, in this tab, before they came here. */
function useWasSignedIn(): boolean {
  const queryClient = useQueryClient();
  const [was] = useState(() =>
    [takeSignedOut(), queryClient.getQueryData(meQuery.queryKey) !== undefined].includes(true),
  );
  return was;
}

/** A message of the server, in which `...` are commands. */
function Words({ text }: { text: string }): ReactNode {
  return text.split(/(`[^`]+`)/).map((part) =>
    part.startsWith("`") && part.length > 1 ? (
      <code key={part} className="font-mono">
        {part.slice(1, -1)}
      </code>
    ) : (
      part
    ),
  );
}

function Trouble(): ReactNode {
  return (
    <details>
      <summary className="rounded-md hover:text-ink">Trouble signing in?</summary>
      <p className="mt-2">
        Whoever runs the server can make a link that signs you in once:{" "}
        <code className="font-mono text-ink">agio keys sign-in</code>. It needs no password.
      </p>
    </details>
  );
}
