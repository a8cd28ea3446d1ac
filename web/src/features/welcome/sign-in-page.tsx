import type { ReactNode } from "react";
import { Page } from "@/components/ui/page";

export function SignInPage(): ReactNode {
  return <Page title="Sign in">{null}</Page>;
}
