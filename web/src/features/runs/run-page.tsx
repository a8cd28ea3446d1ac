import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function RunPage(): ReactNode {
  return <Page title="Run">{null}</Page>;
}
