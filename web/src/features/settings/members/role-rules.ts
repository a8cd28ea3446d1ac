/** Who may give which role, and whose; the server has the last word. */
import type { Me, MemberView } from "@/protocol/api";

export type Role = MemberView["role"];
type Permissions = Pick<Me, "permissions">;

export const ROLES: { role: Role; words: string }[] = [
  { role: "member", words: "talks to agents" },
  { role: "admin", words: "also builds agents and manages the team" },
  { role: "owner", words: "may do everything" },
];

/** The roles somebody can give: only owners make owners. */
export function rolesToGive({ permissions }: Permissions): Role[] {
  if (!permissions.includes("manage")) return [];
  return permissions.includes("own") ? ["member", "admin", "owner"] : ["member", "admin"];
}

/** Why a member's role cannot be changed, nor they be removed; nothing if it can. */
export function whyFixed(me: Permissions, member: MemberView, members: MemberView[]): string | undefined {
  if (!me.permissions.includes("manage")) return "Owners and admins change this.";
  if (member.role !== "owner") return undefined;
  if (!me.permissions.includes("own")) return "Only owners change owners.";
  const owners = members.filter(({ role }) => role === "owner").length;
  return owners === 1 ? "A team always has an owner: make somebody else one first." : undefined;
}
