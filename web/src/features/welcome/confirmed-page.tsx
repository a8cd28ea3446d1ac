/** Where somebody comes back to who proved at a provider, in a tab of its own, who they are: the other tab goes on. */
import { type ReactNode, useEffect } from "react";
import { tellConfirmed } from "@/lib/confirmed";
import { Notice, WelcomeCard } from "./welcome-card";

export function ConfirmedPage(): ReactNode {
  useEffect(tellConfirmed, []);
  return (
    <WelcomeCard
      title="It is you"
      below={
        <a href="/" className="text-accent-text underline">
          Go to the chat
        </a>
      }
    >
      <Notice>The tab you came from goes on. You can close this one.</Notice>
    </WelcomeCard>
  );
}
