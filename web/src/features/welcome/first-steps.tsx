/** Three ways to begin. */
import { Link, type LinkProps } from "@tanstack/react-router";
import { ArrowRight, Bot, type LucideIcon, MessageSquare, Plug } from "lucide-react";
import type { ReactNode } from "react";
import type { Me } from "@/protocol/api";

interface Step {
  icon: LucideIcon;
  title: string;
  words: string;
  link: Pick<LinkProps, "to" | "params">;
  builds: boolean;
}

const STEPS: Step[] = [
  {
    icon: MessageSquare,
    title: "Chat with the demo agent",
    words: "Needs no API key and no network. Ask it for help to see tools, approvals and reasoning.",
    link: { to: "/chat" },
    builds: false,
  },
  {
    icon: Plug,
    title: "Connect a model",
    words: "OpenAI, Anthropic, Gemini or any compatible server, including one on this machine.",
    link: { to: "/settings/$section", params: { section: "providers" } },
    builds: true,
  },
  {
    icon: Bot,
    title: "Create an agent",
    words: "Choose a name, instructions, a model and tools.",
    link: { to: "/agents/new" },
    builds: true,
  },
];

export function FirstSteps({ me }: { me: Me }): ReactNode {
  const mayBuild = me.permissions.includes("build");
  return (
    <ul className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
      {STEPS.map(({ icon: Icon, title, words, link, builds }) => (
        <li key={title}>
          {builds && !mayBuild ? (
            <div className="h-full rounded-2xl border border-dashed border-line p-5">
              <Icon className="mb-3 size-6 text-soft" aria-hidden />
              <h2 className="text-sm font-semibold">{title}</h2>
              <p className="mt-1 text-sm text-soft">Only owners and admins can do this.</p>
            </div>
          ) : (
            <Link
              {...link}
              className="group block h-full rounded-2xl border border-line bg-raised p-5 transition-colors hover:border-strong-line hover:bg-panel"
            >
              <span className="mb-3 grid size-10 place-items-center rounded-xl bg-accent-soft text-accent-text">
                <Icon className="size-5" aria-hidden />
              </span>
              <h2 className="flex items-center gap-1.5 text-sm font-semibold">
                {title}
                <ArrowRight
                  className="size-4 text-soft transition-transform group-hover:translate-x-0.5"
                  aria-hidden
                />
              </h2>
              <p className="mt-1 text-sm text-soft">{words}</p>
            </Link>
          )}
        </li>
      ))}
    </ul>
  );
}
