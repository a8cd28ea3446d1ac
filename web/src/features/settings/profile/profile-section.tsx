/** The person: their account, how they sign in, and what agents know about them. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { buttonClass } from "@/components/ui/button";
import { Card, Page } from "@/components/ui/page";
import type { Me } from "@/protocol/api";
import { AccountCard } from "./account-card";
import { IdentitiesCard } from "./identities-card";
import { KnownFacts } from "./known-facts";
import { PasswordCard } from "./password-card";
import { RememberedCard } from "./remembered-card";
import { SignOutCard } from "./sign-out-card";

export function ProfileSection({ me }: { me: Me }): ReactNode {
  return (
    <Page title="Profile" description="Your account, how you sign in, and what agents know about you.">
      <div className="flex flex-col gap-5">
        {me.account ? <AccountCard account={me.account} /> : <NoAccount name={me.name} />}
        {me.account && <PasswordCard account={me.account} />}
        <IdentitiesCard />
        <Card title="What agents know about you">
          <p className="mb-4 text-sm text-soft">
            Agents with access to your profile can read this, in this team only. You can edit or remove
            everything.
          </p>
          <KnownFacts />
        </Card>
        <RememberedCard />
        <SignOutCard hasAccount={me.account !== null} />
      </div>
    </Page>
  );
}

function NoAccount({ name }: { name: string }): ReactNode {
  return (
    <Card title="Account">
      <p className="mb-3 text-sm text-soft">
        You are signed in as {name}, without an account: only in this browser, until you sign out. With an
        account you can sign in again with an email address and a password.
      </p>
      <Link to="/set-up" className={buttonClass("primary")}>
        Create account
      </Link>
    </Card>
  );
}
