import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function InvitationPage(): ReactNode {
  return <Page title="Invitation">{null}</Page>;
}
