import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function SettingsPage(): ReactNode {
  return <Page title="Settings">{null}</Page>;
}
