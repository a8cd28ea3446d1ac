import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function NewToolPage(): ReactNode {
  return <Page title="New tool">{null}</Page>;
}

export function ToolPage(): ReactNode {
  return <Page title="Tool">{null}</Page>;
}
