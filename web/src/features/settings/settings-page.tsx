/** The settings: their sections beside the one that is open, on a phone above it. */
import { useQuery } from "@tanstack/react-query";
import { Link, Navigate, useParams } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { type ReactNode, Suspense, useEffect, useRef } from "react";
import { meQuery } from "@/api/queries";
import { Needs } from "@/components/access";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Page } from "@/components/ui/page";
import { SECTIONS, type Section } from "./sections";

export function SettingsPage(): ReactNode {
  const { serverId, section = serverId && "mcp-servers" } = useParams({ strict: false });
  const me = useQuery(meQuery);
  if (!me.data) return null;
  const allowed = SECTIONS.filter(({ needs }) => me.data.permissions.includes(needs));
  if (section === undefined && allowed[0])
    return <Navigate to="/settings/$section" params={{ section: allowed[0].id }} replace />;
  const open = SECTIONS.find(({ id }) => id === section);
  return (
    <div className="flex h-full flex-col md:flex-row">
      <Sections sections={allowed} open={open?.id} />
      <div className="min-h-0 min-w-0 flex-1">
        {open ? (
          <Needs permission={open.needs}>
            <Suspense fallback={null}>
              <open.Content key={open.id} me={me.data} />
            </Suspense>
          </Needs>
        ) : (
          <NoSection />
        )}
      </div>
    </div>
  );
}

function Sections({ sections, open }: { sections: Section[]; open: string | undefined }): ReactNode {
  const here = useRef<HTMLAnchorElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: an opened section comes into view
  useEffect(() => {
    const link = here.current;
    const row = link?.closest("nav");
    if (!link || !row) return;
    // Not scrollIntoView: after it, Tab would begin here instead of at the top of the page.
    row.scrollLeft += middleOf(link) - middleOf(row);
  }, [open]);
  return (
    <nav
      aria-label="Settings"
      className="shrink-0 overflow-x-auto border-b border-line md:w-52 md:overflow-x-visible md:overflow-y-auto md:border-r md:border-b-0"
    >
      <p className="hidden px-5 pt-6 pb-3 text-sm font-semibold md:block">Settings</p>
      <ul className="flex w-max gap-1 p-2 md:w-auto md:flex-col md:gap-0.5 md:px-3 md:py-0">
        {sections.map(({ id, label, icon: Icon }) => (
          <li key={id}>
            <Link
              ref={id === open ? here : null}
              to="/settings/$section"
              params={{ section: id }}
              className="flex h-8 items-center gap-2.5 rounded-lg px-2.5 text-sm whitespace-nowrap text-soft hover:bg-hover hover:text-ink"
              activeProps={{ className: "bg-hover font-medium text-ink!" }}
            >
              <Icon className="size-4 shrink-0" aria-hidden />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function middleOf(element: Element): number {
  const { left, width } = element.getBoundingClientRect();
  return left + width / 2;
}

function NoSection(): ReactNode {
  return (
    <Page title="Not found">
      <Empty
        icon={Compass}
        title="Page not found"
        action={
          <Link to="/settings" className={buttonClass("primary")}>
            Go to settings
          </Link>
        }
      >
        The address is wrong, or the page was removed.
      </Empty>
    </Page>
  );
}
