/** Signs out every browser of the person, this one too. */
import { type ReactNode, useState } from "react";
import { api } from "@/api/client";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Card } from "@/components/ui/page";
import { useToast } from "@/components/ui/toast";
import { tabMemory } from "@/lib/memory";
import { noteSignedOut } from "@/lib/signed-out";

export function SignOutCard({ hasAccount }: { hasAccount: boolean }): ReactNode {
  const confirm = useConfirm();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const signOut = async () => {
    const message = hasAccount
      ? "Every browser signed in as you is signed out, including this one. API keys keep working."
      : "You have no account: you need a new sign-in link to sign in again. API keys keep working.";
    if (!(await confirm({ title: "Sign out everywhere?", message, action: "Sign out", danger: true })))
      return;
    setBusy(true);
    try {
      await api.POST("/api/account/sign-out-everywhere");
      tabMemory.clear();
      noteSignedOut();
      location.assign("/sign-in");
    } catch (thrown) {
      toast.failed(thrown);
      setBusy(false);
    }
  };
  return (
    <Card title="Active sessions">
      <p className="mb-3 text-sm text-soft">Lost a device, or left one signed in? Sign out everywhere.</p>
      <Button busy={busy} onClick={() => void signOut()}>
        Sign out everywhere
      </Button>
    </Card>
  );
}
