import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function AgentsPage(): ReactNode {
  return <Page title="Agents">{null}</Page>;
}
