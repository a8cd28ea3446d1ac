/** What became of an invitation. */
import type { InvitationView } from "@/protocol/api";

type InvitationState = "open" | "accepted" | "revoked" | "expired";

export function stateOf(invitation: InvitationView, now: number = Date.now()): InvitationState {
  if (invitation.accepted_by !== null) return "accepted";
  if (invitation.closed_at !== null) return "revoked";
  return invitation.expires_at <= now ? "expired" : "open";
}
