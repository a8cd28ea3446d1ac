/** The landing page after a confirmation at a provider, in a new tab: the first tab continues. */
import { type ReactNode, useEffect } from "react";
import { tellConfirmed } from "@/lib/confirmed";
import { Notice, WelcomeCard } from "./welcome-card";

export function ConfirmedPage(): ReactNode {
  useEffect(tellConfirmed, []);
  return (
    <WelcomeCard
      title="Confirmed"
      below={
        <a href="/" className="text-accent-text underline">
          Go to chat
        </a>
      }
    >
      <Notice>Continue in the previous tab. You can close this one.</Notice>
    </WelcomeCard>
  );
}
