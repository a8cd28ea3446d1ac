import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function SetUpPage(): ReactNode {
  return <Page title="Welcome">{null}</Page>;
}
