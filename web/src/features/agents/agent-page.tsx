import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function NewAgentPage(): ReactNode {
  return <Page title="New agent">{null}</Page>;
}

export function AgentPage(): ReactNode {
  return <Page title="Agent">{null}</Page>;
}
