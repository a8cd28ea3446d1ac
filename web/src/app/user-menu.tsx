/** Who one is, with the ways to one's profile, to help and out. */
import { Link, useNavigate } from "@tanstack/react-router";
import { CircleUser, Keyboard, LogOut, SunMoon } from "lucide-react";
import { lazy, type ReactNode, Suspense, useCallback, useState } from "react";
import { signOut } from "@/api/browser-session";
import { Menu, MenuItem, MenuLine } from "@/components/ui/menu";
import { useToast } from "@/components/ui/toast";
import { useShortcut } from "@/lib/shortcuts";
import type { Me } from "@/protocol/api";

const HelpSheet = lazy(async () => ({ default: (await import("./help-sheet")).HelpSheet }));

export function UserMenu({ me }: { me: Me }): ReactNode {
  const toast = useToast();
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  useShortcut(
    { key: "?" },
    useCallback(() => setHelp(true), []),
  );
  useShortcut(
    { key: "o", command: true, shift: true },
    useCallback(() => void navigate({ to: "/chat", search: {} }), [navigate]),
  );
  return (
    <>
      <Menu
        align="start"
        side="top"
        trigger={
          <button
            type="button"
            className="flex h-10 w-full items-center gap-2.5 rounded-lg px-2 text-left hover:bg-hover"
          >
            <span
              aria-hidden
              className="grid size-6 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent-text"
            >
              {me.name.slice(0, 1).toUpperCase()}
            </span>
            <span className="min-w-0 flex-1 truncate text-sm">{me.name}</span>
            <span className="text-xs text-soft">{me.role}</span>
          </button>
        }
      >
        <MenuItem asChild>
          <Link to="/settings/$section" params={{ section: "profile" }}>
            <CircleUser className="size-4" aria-hidden /> Profile
          </Link>
        </MenuItem>
        <MenuItem asChild>
          <Link to="/settings/$section" params={{ section: "appearance" }}>
            <SunMoon className="size-4" aria-hidden /> Appearance
          </Link>
        </MenuItem>
        <MenuItem onSelect={() => setHelp(true)}>
          <Keyboard className="size-4" aria-hidden /> Keyboard shortcuts
        </MenuItem>
        <MenuLine />
        <MenuItem onSelect={() => void signOut().catch(toast.failed)}>
          <LogOut className="size-4" aria-hidden /> Sign out
        </MenuItem>
      </Menu>
      {help && (
        <Suspense>
          <HelpSheet onClose={() => setHelp(false)} />
        </Suspense>
      )}
    </>
  );
}
