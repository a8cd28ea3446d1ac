import { expect, test } from "vitest";
import type { MemberView } from "@/protocol/api";
import { type Role, rolesToGive, whyFixed } from "./role-rules";

const member = (user: string, role: Role): MemberView => ({
  user,
  name: user,
  role,
  email: null,
  created_at: 1,
});
const OWNER = { permissions: ["use", "build", "manage", "own"] as const };
const ADMIN = { permissions: ["use", "build", "manage"] as const };
const MEMBER = { permissions: ["use"] as const };
const as = ({ permissions }: { permissions: readonly ("use" | "build" | "manage" | "own")[] }) => ({
  permissions: [...permissions],
});

test("only owners make owners, and members give no role", () => {
  expect(rolesToGive(as(OWNER))).toEqual(["member", "admin", "owner"]);
  expect(rolesToGive(as(ADMIN))).toEqual(["member", "admin"]);
  expect(rolesToGive(as(MEMBER))).toEqual([]);
});

test("the last owner stays, one of two can go", () => {
  const ann = member("ann", "owner");
  expect(whyFixed(as(OWNER), ann, [ann, member("bob", "admin")])).toMatch(/needs an owner/);
  expect(whyFixed(as(OWNER), ann, [ann, member("bob", "owner")])).toBeUndefined();
});

test("admins change admins and members, but no owners", () => {
  const all = [
    member("ann", "owner"),
    member("bob", "owner"),
    member("cid", "admin"),
    member("dan", "member"),
  ];
  const fixed = all.map((one) => whyFixed(as(ADMIN), one, all) !== undefined);
  expect(fixed).toEqual([true, true, false, false]);
});

test("members change nobody", () => {
  const dan = member("dan", "member");
  expect(whyFixed(as(MEMBER), dan, [dan])).toBeDefined();
});
