/** Shows a member's one-time sign-in link, once. */
import type { ReactNode } from "react";
import { Button } from "@/components/ui/button";
import { Actions, Dialog } from "@/components/ui/dialog";
import { formatMoment } from "@/lib/format";
import type { NewSignInLink } from "@/protocol/api";
import { ShownOnce } from "../shown-once";

interface SignInLinkDialogProps {
  name: string;
  link: NewSignInLink;
  onClose: () => void;
}

export function SignInLinkDialog({ name, link, onClose }: SignInLinkDialogProps): ReactNode {
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Sign-in link for ${name}`}
      description={`Anyone who opens this link is signed in as ${name}. It works only once, expires on ${formatMoment(link.expires_at)}, and cannot be shown again.`}
    >
      <ShownOnce label="Sign-in link" text={new URL(link.url, location.origin).href} />
      <Actions>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </Actions>
    </Dialog>
  );
}
