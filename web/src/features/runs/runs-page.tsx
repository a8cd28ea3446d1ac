import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function RunsPage(): ReactNode {
  return <Page title="Runs">{null}</Page>;
}
