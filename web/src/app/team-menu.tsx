/** Which team one is in, and the others to go to. */
import { Check, ChevronsUpDown } from "lucide-react";
import type { ReactNode } from "react";
import { switchTeam } from "@/api/browser-session";
import { Menu, MenuItem, MenuLabel } from "@/components/ui/menu";
import { useToast } from "@/components/ui/toast";
import type { Me } from "@/protocol/api";

export function TeamMenu({ me }: { me: Me }): ReactNode {
  const toast = useToast();
  const here = me.tenants.find((team) => team.tenant === me.tenant);
  const name = here?.name ?? me.tenant;
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex h-10 w-full items-center gap-2.5 rounded-lg px-2 text-left hover:bg-hover"
          aria-label={`Team ${name}`}
        >
          <img src="/icon.svg" alt="" className="size-6 rounded-md" />
          <span className="min-w-0 flex-1 truncate text-sm font-semibold">{name}</span>
          <ChevronsUpDown className="size-4 text-soft" aria-hidden />
        </button>
      }
    >
      <MenuLabel>Your teams</MenuLabel>
      {me.tenants.map((team) => (
        <MenuItem
          key={team.tenant}
          onSelect={() => {
            if (team.tenant !== me.tenant) switchTeam(team.tenant).catch(toast.failed);
          }}
        >
          <span className="min-w-0 flex-1 truncate">{team.name}</span>
          <span className="text-xs text-soft">{team.role}</span>
          {team.tenant === me.tenant && <Check className="size-4 text-accent-text" aria-label="this one" />}
        </MenuItem>
      ))}
    </Menu>
  );
}
