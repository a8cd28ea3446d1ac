/** Who may give which role, and whose; the server has the last word. */
import type { Me, MemberView } from "@/protocol/api";

export type Role = MemberView["role"];
type Permissions = Pick<Me, "permissions">;

export const ROLES: { role: Role; words: string }[] = [
  { role: "member", words: "can chat with agents" },
  { role: "admin", words: "can also build agents and manage the team" },
  { role: "owner", words: "has full access" },
];

/** The roles a user can give: only owners make owners. */
export function rolesToGive({ permissions }: Permissions): Role[] {
  if (!permissions.includes("manage")) return [];
  return permissions.includes("own") ? ["member", "admin", "owner"] : ["member", "admin"];
}

/** Why a member's role cannot be changed, nor they be removed; nothing if it can. */
export function whyFixed(me: Permissions, member: MemberView, members: MemberView[]): string | undefined {
  if (!me.permissions.includes("manage")) return "Only owners and admins can change this.";
  if (member.role !== "owner") return undefined;
  if (!me.permissions.includes("own")) return "Only owners can change owners.";
  const owners = members.filter(({ role }) => role === "owner").length;
  return owners === 1 ? "A team needs an owner: make someone else an owner first." : undefined;
}
