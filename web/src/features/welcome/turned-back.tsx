/** For a user who returned from a provider without success, and is still signed in as before. */
import type { ReactNode } from "react";
import { Button, buttonClass } from "@/components/ui/button";
import type { DocumentProblem } from "./document-problem";
import { Notice, WelcomeCard, Words } from "./welcome-card";

const TITLES = {
  sign_in: "You are already signed in",
  link: "Nothing was linked",
  confirm: "Your identity was not confirmed",
} as const;

interface TurnedBackProps {
  given: DocumentProblem;
  /** The user wants to sign in with another account. */
  onAnother: () => void;
}

export function TurnedBack({ given, onAnother }: TurnedBackProps): ReactNode {
  const { problem, purpose, returnTo } = given;
  return (
    <WelcomeCard title={TITLES[purpose]}>
      <Notice warn>
        <Words text={problem.message} />
      </Notice>
      {purpose === "confirm" && (
        <p className="text-sm text-soft">
          Your change is still open in the previous tab. Close this tab and confirm again there.
        </p>
      )}
      {purpose === "link" && (
        <a href={returnTo} className={buttonClass("primary")}>
          Go back
        </a>
      )}
      <a href="/" className={buttonClass(purpose === "sign_in" ? "primary" : "plain")}>
        Go to chat
      </a>
      {purpose === "sign_in" && (
        <Button look="quiet" onClick={onAnother}>
          Use another account
        </Button>
      )}
    </WelcomeCard>
  );
}
