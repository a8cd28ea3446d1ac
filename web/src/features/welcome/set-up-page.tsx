/** The page after a one-time link: an account to come back with, or not yet; then what to do first. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { meQuery } from "@/api/queries";
import { signInMethodsQuery } from "@/api/team-queries";
import { Button } from "@/components/ui/button";
import { Card, Page } from "@/components/ui/page";
import { AccountForm, type NewAccount } from "./account-form";
import { FirstSteps } from "./first-steps";
import { LinkButtons } from "./link-buttons";
import { Or } from "./welcome-card";

export function SetUpPage(): ReactNode {
  const me = useQuery(meQuery);
  const [skipped, setSkipped] = useState(false);
  if (!me.data) return null;
  if (me.data.account === null && !skipped) return <MakeAccount onSkip={() => setSkipped(true)} />;
  return (
    <Page
      title={me.data.account ? `Welcome, ${me.data.account.name}` : "Welcome to agio"}
      description="Everything is ready. What would you like to do first?"
    >
      <FirstSteps me={me.data} />
      {me.data.account === null && (
        <p className="mt-6 text-sm text-soft">
          You have no account yet.{" "}
          <button type="button" className="text-accent-text underline" onClick={() => setSkipped(false)}>
            Create one
          </button>{" "}
          before you sign out, or you will need a new link to sign in again.
        </p>
      )}
    </Page>
  );
}

function MakeAccount({ onSkip }: { onSkip: () => void }): ReactNode {
  const queryClient = useQueryClient();
  const methods = useQuery(signInMethodsQuery);
  const make = async (body: NewAccount) => {
    await api.POST("/api/account", { body });
    void queryClient.invalidateQueries(signInMethodsQuery);
    await queryClient.invalidateQueries(meQuery);
  };
  return (
    <Page
      title="You are signed in"
      description="This link works only once. Create an account to sign in later with your email address and a password."
    >
      <Card className="max-w-md">
        <AccountForm
          action="Create account"
          onSend={make}
          beside={
            <Button look="quiet" onClick={onSkip}>
              Not now
            </Button>
          }
        />
        {methods.data && methods.data.providers.length > 0 && (
          <div className="mt-4 flex flex-col gap-4">
            <Or />
            <LinkButtons providers={methods.data.providers} />
          </div>
        )}
        <p className="mt-5 border-t border-line pt-4 text-[0.8125rem] text-soft">
          Without an account you stay signed in only in this browser. If you sign out, you need a new link:
          until the first account exists, the server prints one at each start, or its administrator creates
          one with <code className="font-mono">agio keys sign-in --user local</code>.
        </p>
      </Card>
    </Page>
  );
}
