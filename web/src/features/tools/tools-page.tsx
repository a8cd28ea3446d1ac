import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function ToolsPage(): ReactNode {
  return <Page title="Tools">{null}</Page>;
}
