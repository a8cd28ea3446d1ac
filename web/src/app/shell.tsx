/** The frame around the pages: the bar at the side with its ways, on a phone a drawer; the page beside it. */
import { Link, useRouter } from "@tanstack/react-router";
import { Activity, Bot, Brain, Menu as MenuIcon, MessageSquare, Settings, Wrench } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useEffect, useState } from "react";
import { SideSlotProvider, useSideSlot } from "@/components/side-slot";
import { IconButton } from "@/components/ui/button";
import type { Me } from "@/protocol/api";
import { ConnectionBanner } from "./connection-banner";
import { TeamMenu } from "./team-menu";
import { UserMenu } from "./user-menu";

const WAYS = [
  { to: "/chat", label: "Chat", icon: MessageSquare, needs: "use" },
  { to: "/runs", label: "Runs", icon: Activity, needs: "use" },
  { to: "/agents", label: "Agents", icon: Bot, needs: "use" },
  { to: "/memories", label: "Memories", icon: Brain, needs: "use" },
  { to: "/tools", label: "Tools", icon: Wrench, needs: "build" },
  { to: "/settings", label: "Settings", icon: Settings, needs: "use" },
] as const;

export function Shell({ me, children }: { me: Me; children: ReactNode }): ReactNode {
  const [open, setOpen] = useState(false);
  const router = useRouter();
  // Going anywhere closes the drawer, also to where one is.
  useEffect(() => router.subscribe("onBeforeLoad", () => setOpen(false)), [router]);
  return (
    <SideSlotProvider>
      <a
        href="#page"
        className="sr-only z-50 rounded-lg bg-raised px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <div className="flex h-dvh flex-col md:flex-row">
        <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line bg-panel px-2 md:hidden">
          <Dialog.Root open={open} onOpenChange={setOpen}>
            <Dialog.Trigger asChild>
              <IconButton label="Open menu">
                <MenuIcon className="size-5" aria-hidden />
              </IconButton>
            </Dialog.Trigger>
            <Dialog.Portal>
              <Dialog.Overlay className="fixed inset-0 z-40 animate-fade-in bg-black/45" />
              <Dialog.Content
                aria-describedby={undefined}
                className="fixed inset-y-0 left-0 z-50 flex w-72 max-w-[85vw] animate-slide-in flex-col border-r border-line bg-panel focus:outline-none"
              >
                <Dialog.Title className="sr-only">Menu</Dialog.Title>
                <Side me={me} />
              </Dialog.Content>
            </Dialog.Portal>
          </Dialog.Root>
          <span className="text-sm font-semibold">agio</span>
        </header>
        <div className="hidden w-64 shrink-0 flex-col border-r border-line bg-panel md:flex">
          <Side me={me} />
        </div>
        <main
          id="page"
          tabIndex={-1}
          className="relative flex min-h-0 min-w-0 flex-1 flex-col focus:outline-none"
        >
          <ConnectionBanner />
          <div className="min-h-0 flex-1">{children}</div>
        </main>
      </div>
    </SideSlotProvider>
  );
}

function Side({ me }: { me: Me }): ReactNode {
  const slot = useSideSlot();
  return (
    <>
      <div className="p-2">
        <TeamMenu me={me} />
      </div>
      <nav aria-label="Pages" className="px-2">
        <ul className="flex flex-col gap-0.5">
          {WAYS.filter(({ needs }) => me.permissions.includes(needs)).map(({ to, label, icon: Icon }) => (
            <li key={to}>
              <Link
                to={to}
                className="flex h-8 items-center gap-2.5 rounded-lg px-2.5 text-sm text-soft hover:bg-hover hover:text-ink"
                activeProps={{ className: "bg-hover font-medium text-ink!" }}
              >
                <Icon className="size-4" aria-hidden />
                {label}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="mt-3 flex min-h-0 flex-1 flex-col">{slot}</div>
      <div className="border-t border-line p-2">
        <UserMenu me={me} />
      </div>
    </>
  );
}
