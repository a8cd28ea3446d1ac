/** A member of the team, whose role can be changed. */
import { LogIn, MoreHorizontal, UserMinus } from "lucide-react";
import { type ReactNode, useId } from "react";
import { Badge } from "@/components/ui/badge";
import { IconButton } from "@/components/ui/button";
import { Select } from "@/components/ui/field";
import { Menu, MenuItem } from "@/components/ui/menu";
import { formatDay } from "@/lib/format";
import type { MemberView } from "@/protocol/api";
import type { Role } from "./role-rules";

interface MemberRowProps {
  member: MemberView;
  isMe: boolean;
  roles: Role[];
  /** Why nothing can be changed. */
  fixed: string | undefined;
  busy: boolean;
  onRole: (role: Role) => void;
  onRemove: () => void;
  /** Left out for those who cannot create one. */
  onSignInLink: (() => void) | undefined;
}

export function MemberRow(props: MemberRowProps): ReactNode {
  const { member, isMe, roles, fixed, busy, onRole, onRemove, onSignInLink } = props;
  const id = useId();
  const offered = roles.includes(member.role) ? roles : [...roles, member.role];
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3">
      <span
        aria-hidden
        className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-sm font-semibold text-accent-text"
      >
        {member.name.slice(0, 1).toUpperCase()}
      </span>
      <div className="min-w-0 flex-1 basis-40">
        <p className="flex flex-wrap items-center gap-2 text-sm font-medium wrap-anywhere">
          {member.name} {isMe && <Badge tone="accent">you</Badge>}
        </p>
        <p className="text-[0.8125rem] text-soft wrap-anywhere">
          {member.email ?? "no account"} · since {formatDay(member.created_at)}
        </p>
        {fixed && (
          <p id={id} className="text-[0.8125rem] text-soft">
            {fixed}
          </p>
        )}
      </div>
      <div className="flex items-center gap-1">
        <Select
          aria-label={`Role of ${member.name}`}
          aria-describedby={fixed ? id : undefined}
          className="w-28"
          value={member.role}
          disabled={busy || fixed !== undefined}
          onChange={(event) => {
            const role = offered.find((one) => one === event.target.value);
            if (role) onRole(role);
          }}
        >
          {offered.map((role) => (
            <option key={role} value={role}>
              {role}
            </option>
          ))}
        </Select>
        <IconButton
          label={isMe ? "Leave the team" : `Remove ${member.name}`}
          size="medium"
          disabled={busy || fixed !== undefined}
          onClick={onRemove}
        >
          <UserMinus className="size-4" aria-hidden />
        </IconButton>
        {onSignInLink && (
          <Menu
            trigger={
              <IconButton label={`More actions for ${member.name}`} size="medium" disabled={busy}>
                <MoreHorizontal className="size-4" aria-hidden />
              </IconButton>
            }
          >
            <MenuItem onSelect={onSignInLink}>
              <LogIn className="size-4" aria-hidden /> Create sign-in link
            </MenuItem>
          </Menu>
        )}
      </div>
    </li>
  );
}
