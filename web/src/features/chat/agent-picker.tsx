/** Which agent to talk to: a button with its name, and the others in a list that can be searched when it is long. */
import { Bot, Check, ChevronDown } from "lucide-react";
import { Popover } from "radix-ui";
import { type KeyboardEvent, type ReactNode, useState } from "react";
import { Input } from "@/components/ui/field";
import { cx } from "@/lib/class-names";
import type { AgentView } from "@/protocol/api";
import { modelOf } from "./model-of";

const MANY = 7;

interface AgentPickerProps {
  agents: readonly AgentView[];
  chosen: AgentView;
  onChoose: (agent: AgentView) => void;
}

export function AgentPicker({ agents, chosen, onChoose }: AgentPickerProps): ReactNode {
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const found = agents.filter((agent) => isFound(agent, search));
  const choose = (agent: AgentView) => {
    onChoose(agent);
    setOpen(false);
    setSearch("");
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <button
          type="button"
          aria-label={`Agent: ${chosen.name}`}
          className="flex max-w-full items-center gap-2 rounded-full border border-line bg-raised px-3.5 py-1.5 text-sm font-medium hover:bg-hover"
        >
          <Bot className="size-4 shrink-0 text-accent-text" aria-hidden />
          <span className="truncate">{chosen.name}</span>
          <ChevronDown className="size-4 shrink-0 text-soft" aria-hidden />
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          sideOffset={8}
          collisionPadding={8}
          aria-label="Choose an agent"
          onKeyDown={moveFocus}
          className="z-50 flex max-h-[min(24rem,var(--radix-popover-content-available-height))] w-80 max-w-[calc(100vw-1rem)] animate-rise flex-col rounded-2xl border border-line bg-raised p-1.5 shadow-xl"
        >
          {agents.length > MANY && (
            <div className="p-1.5">
              <Input
                type="search"
                aria-label="Search agents"
                placeholder="Search agents"
                value={search}
                onChange={(event) => setSearch(event.target.value)}
                onKeyDown={(event) => {
                  if (event.key === "Enter" && found[0]) choose(found[0]);
                }}
              />
            </div>
          )}
          <ul className="min-h-0 overflow-y-auto">
            {found.map((agent) => (
              <li key={agent.id}>
                <button
                  type="button"
                  data-choice
                  aria-current={agent.id === chosen.id ? "true" : undefined}
                  onClick={() => choose(agent)}
                  className="flex w-full items-start gap-2 rounded-xl px-2.5 py-2 text-left hover:bg-hover focus-visible:bg-hover focus-visible:outline-offset-[-2px]"
                >
                  <span className="min-w-0 flex-1">
                    <span className="block truncate text-sm font-medium">{agent.name}</span>
                    {agent.description && (
                      <span className="line-clamp-2 text-[0.8125rem] text-soft">{agent.description}</span>
                    )}
                    <span className="block truncate font-mono text-xs text-soft">{modelOf(agent)}</span>
                  </span>
                  <Check
                    className={cx("mt-0.5 size-4 text-accent-text", agent.id !== chosen.id && "invisible")}
                    aria-hidden
                  />
                </button>
              </li>
            ))}
          </ul>
          {found.length === 0 && (
            <p className="px-3 py-4 text-center text-sm text-soft">No matching agents.</p>
          )}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function isFound(agent: AgentView, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return [agent.name, agent.description, modelOf(agent)].some((text) => text.toLowerCase().includes(wanted));
}

/** The arrow keys go from choice to choice. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0) return;
  const choices = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-choice]")];
  const at = choices.findIndex((choice) => choice.matches(":focus"));
  event.preventDefault();
  choices.at(at < 0 && step < 0 ? -1 : (at + step) % choices.length)?.focus();
}
