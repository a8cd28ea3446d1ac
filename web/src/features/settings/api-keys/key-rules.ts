/** What keys may do, and in which state they are. */
import type { Permission } from "@/components/access";
import type { KeyView, Me } from "@/protocol/api";

const PERMISSIONS: { id: Permission; words: string }[] = [
  { id: "use", words: "chat with agents; own chats, files and keys" },
  { id: "build", words: "edit agents, tools and providers" },
  { id: "manage", words: "members, invitations, the team's settings" },
  { id: "own", words: "owners, the audit log, new teams" },
];

/** The permissions a user can give a key: no more than their own. */
export function grantable(me: Pick<Me, "permissions">): typeof PERMISSIONS {
  return PERMISSIONS.filter(({ id }) => me.permissions.includes(id));
}

export const ENDS: { days: number | null; words: string }[] = [
  { days: 7, words: "In a week" },
  { days: 30, words: "In 30 days" },
  { days: 90, words: "In 90 days" },
  { days: 365, words: "In a year" },
  { days: null, words: "Never" },
];

type KeyState = "works" | "expired" | "revoked";

export function stateOf(key: Pick<KeyView, "revoked_at" | "expires_at">, now: number = Date.now()): KeyState {
  if (key.revoked_at !== null) return "revoked";
  return key.expires_at !== null && key.expires_at <= now ? "expired" : "works";
}

/** How many keys end with one: those made with it, and those made with them. */
export function madeWith(keys: Pick<KeyView, "id" | "made_by" | "revoked_at">[], id: string): number {
  const own = keys.filter((key) => key.made_by === id && key.revoked_at === null);
  return own.reduce((count, key) => count + 1 + madeWith(keys, key.id), 0);
}
