/** The chats in the side bar: a new one, a search, and the list. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Search, SquarePen, X } from "lucide-react";
import { type ReactNode, useCallback, useRef, useState } from "react";
import { agentsQuery } from "@/api/queries";
import { buttonClass } from "@/components/ui/button";
import { Select } from "@/components/ui/field";
import { cx } from "@/lib/class-names";
import { COMMAND_KEY, useShortcut } from "@/lib/shortcuts";
import { useSettled } from "@/lib/use-settled";
import { moveBetweenChats } from "./hit-keys";
import { SessionList } from "./session-list";

/** One element for both pages of the chat, so that the list stays when one goes from one to the other. */
export const SESSION_SIDE = <SessionSide />;

function SessionSide(): ReactNode {
  const [search, setSearch] = useState("");
  const [agentId, setAgentId] = useState("");
  const [entered, setEntered] = useState("");
  const wanted = useSettled(search.trim());
  const agents = useQuery(agentsQuery).data ?? [];
  const input = useRef<HTMLInputElement>(null);
  useShortcut(
    { key: "k", command: true },
    useCallback(() => input.current?.select(), []),
  );
  const opened = useCallback((elsewhere: boolean) => {
    setEntered("");
    if (elsewhere) input.current?.blur(); // in a chat that was opened, typing goes to its message box
  }, []);
  return (
    <section
      aria-label="Chats"
      onKeyDown={(event) => moveBetweenChats(event, input.current)}
      className="flex min-h-0 flex-1 flex-col border-t border-line pt-3"
    >
      <div className="flex flex-col gap-2 px-2 pb-1">
        <Link to="/chat" search={{}} className={cx(buttonClass("plain", "small"), "w-full")}>
          <SquarePen className="size-4" aria-hidden /> New chat
        </Link>
        <div className="relative">
          <Search className="pointer-events-none absolute top-2 left-2.5 size-4 text-soft" aria-hidden />
          <input
            ref={input}
            type="search"
            aria-label="Search chats"
            placeholder={`Search chats (${COMMAND_KEY} K)`}
            maxLength={200}
            value={search}
            onChange={(event) => {
              setSearch(event.target.value);
              setEntered("");
            }}
            onKeyDown={(event) => {
              if (event.nativeEvent.isComposing) return;
              if (event.key === "Enter") setEntered(search.trim());
              if (event.key !== "Escape") return;
              event.preventDefault();
              if (search) setSearch("");
              else event.currentTarget.blur();
            }}
            className="h-8 w-full rounded-lg bg-hover/70 pr-8 pl-8.5 text-[0.8125rem] placeholder:text-soft [&::-webkit-search-cancel-button]:hidden"
          />
          {search && (
            <button
              type="button"
              aria-label="Clear search"
              onClick={() => {
                setSearch("");
                input.current?.focus();
              }}
              className="absolute top-1 right-1 grid size-6 place-items-center rounded-md text-soft hover:bg-hover"
            >
              <X className="size-3.5" aria-hidden />
            </button>
          )}
        </div>
        {agents.length > 1 && (
          <Select
            aria-label="Agent"
            value={agentId}
            onChange={(event) => setAgentId(event.target.value)}
            className="h-8! border-line! bg-transparent! text-[0.8125rem]!"
          >
            <option value="">All agents</option>
            {agents.map((agent) => (
              <option key={agent.id} value={agent.id}>
                {agent.name}
              </option>
            ))}
          </Select>
        )}
      </div>
      <SessionList search={wanted} agentId={agentId} entered={entered} onOpened={opened} />
    </section>
  );
}
