/** The beginning of a chat: an agent, a box to write in, and something to try. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useRouter, useSearch } from "@tanstack/react-router";
import { Bot, Plug } from "lucide-react";
import {
  lazy,
  type ReactNode,
  type RefObject,
  Suspense,
  useCallback,
  useEffect,
  useRef,
  useState,
} from "react";
import { api, data } from "@/api/client";
import { agentsQuery, meQuery, providersQuery } from "@/api/queries";
import { SideSlot } from "@/components/side-slot";
import { buttonClass } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { useTitle } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { Skeleton } from "@/components/ui/skeleton";
import type { AgentView } from "@/protocol/api";
import type { Content } from "@/protocol/commands";
import { useOutbox } from "@/realtime/outbox-context";
import { Composer } from "./composer";
import { NEW_CHAT } from "./drafts";
import { lastAgent, rememberAgent } from "./last-agent";
import { modelOf } from "./model-of";
import { SESSION_SIDE } from "./session-side";
import { suggestionsFor } from "./suggestions";

// Its popover is not for chats that have begun.
const AgentPicker = lazy(async () => ({ default: (await import("./agent-picker")).AgentPicker }));

export function NewChatPage(): ReactNode {
  useTitle("New chat");
  const me = useQuery(meQuery).data;
  const agents = useQuery(agentsQuery);
  useEffect(() => void import("./chat-page").catch(() => undefined), []); // where the first message leads
  return (
    <>
      <SideSlot>{SESSION_SIDE}</SideSlot>
      <div className="h-full overflow-y-auto">
        <div className="mx-auto flex min-h-full w-full max-w-3xl flex-col justify-center px-4 py-8">
          {agents.isPending && <Loading />}
          {agents.isError && <ProblemNote problem={agents.error} onRetry={() => void agents.refetch()} />}
          {agents.data && (
            <Start
              agents={agents.data.filter((agent) => agent.status === "active")}
              mayBuild={me?.permissions.includes("build") ?? false}
              name={me?.account ? me.name : ""}
            />
          )}
        </div>
      </div>
    </>
  );
}

interface StartProps {
  agents: AgentView[];
  mayBuild: boolean;
  name: string;
}

function Start({ agents, mayBuild, name }: StartProps): ReactNode {
  const { agent: wanted } = useSearch({ from: "/inside/chat" });
  const [picked, setPicked] = useState<string | null>(null);
  const [trouble, setTrouble] = useState<unknown>(null);
  const [trying, setTrying] = useState(false);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const outbox = useOutbox();
  const here = useIsHere();
  const wishes = useWishes();
  const by = (id: string | null | undefined) => agents.find((agent) => agent.id === id);
  const chosen = by(picked) ?? by(wanted) ?? by(lastAgent()) ?? agents[0];
  const chosenId = chosen?.id;

  const start = useCallback(
    async (content: Content) => {
      if (!chosenId) return;
      setTrouble(null);
      const path = { agent_id: chosenId };
      const session = await data(
        api.POST("/api/agents/{agent_id}/sessions", {
          params: { path },
          body: { title: "", on_busy: "queue" },
        }),
      );
      outbox.put(session.id, content);
      rememberAgent(chosenId);
      void queryClient.invalidateQueries({ queryKey: ["sessions"] });
      // A user who left the page meanwhile stays where they are.
      if (here.current) await navigate({ to: "/chat/$sessionId", params: { sessionId: session.id } });
    },
    [chosenId, outbox, queryClient, navigate, here],
  );

  const tryOut = async (text: string) => {
    setTrying(true);
    try {
      await start(text);
    } catch (thrown) {
      setTrouble(thrown);
      setTrying(false);
    }
  };

  if (!chosen) return <NoAgents mayBuild={mayBuild} />;
  const isDemo = chosen.model_provider === "demo";
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-col items-center gap-3 text-center">
        <h1 className="text-2xl font-semibold tracking-tight wrap-anywhere">{greeting(name)}</h1>
        <Suspense fallback={<Skeleton className="h-8.5 w-32 rounded-full" />}>
          <AgentPicker agents={agents} chosen={chosen} onChoose={(agent) => setPicked(agent.id)} />
        </Suspense>
        <p className="max-w-lg text-sm text-soft">
          {chosen.description || `Answers with ${modelOf(chosen)}.`}
        </p>
      </div>
      <Composer draft={NEW_CHAT} placeholder={`Message ${chosen.name}`} onSend={start} wishes={wishes} />
      {trouble !== null && <ProblemNote problem={trouble} />}
      {isDemo && (
        <ul aria-label="Things to try" className="grid gap-2 sm:grid-cols-2">
          {suggestionsFor(chosen).map(({ text, about }) => (
            <li key={text}>
              <button
                type="button"
                disabled={trying}
                onClick={() => void tryOut(text)}
                className="w-full rounded-xl border border-line px-3.5 py-2.5 text-left hover:bg-hover disabled:opacity-60"
              >
                <span className="block text-sm font-medium">{text}</span>
                <span className="block text-[0.8125rem] text-soft">{about}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {mayBuild && <ModelHint />}
    </div>
  );
}

/** How often the user asked for a new chat while this one was shown. */
function useWishes(): number {
  const router = useRouter();
  const [wishes, setWishes] = useState(0);
  useEffect(
    () =>
      router.subscribe("onResolved", ({ pathChanged }) => {
        if (!pathChanged) setWishes((before) => before + 1);
      }),
    [router],
  );
  return wishes;
}

/** Whether the page is still shown, for code that continues after an await. */
function useIsHere(): RefObject<boolean> {
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  return here;
}

/** Says how to get a real model, as long as the team has none. */
function ModelHint(): ReactNode {
  const providers = useQuery(providersQuery);
  if (!providers.data || providers.data.some((provider) => provider.kind !== "demo")) return null;
  return (
    <p className="flex items-center justify-center gap-2 text-[0.8125rem] text-soft">
      <Plug className="size-4 shrink-0" aria-hidden />
      <span>
        Only the demo model is connected.{" "}
        <Link
          to="/settings/$section"
          params={{ section: "providers" }}
          className="font-medium text-accent-text underline underline-offset-2"
        >
          Connect a model
        </Link>
      </span>
    </p>
  );
}

function NoAgents({ mayBuild }: { mayBuild: boolean }): ReactNode {
  return (
    <Empty
      whole
      icon={Bot}
      title="No agents yet"
      action={
        mayBuild && (
          <Link to="/agents/new" className={buttonClass("primary")}>
            Create an agent
          </Link>
        )
      }
    >
      {mayBuild
        ? "An agent is a model with instructions and tools. Create the first one to start chatting."
        : "Ask an owner or admin to create one."}
    </Empty>
  );
}

function Loading(): ReactNode {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col items-center gap-6">
      <Skeleton className="h-8 w-56" />
      <Skeleton className="h-9 w-32 rounded-full" />
      <Skeleton className="h-24 w-full rounded-2xl" />
    </div>
  );
}

function greeting(name: string): string {
  const hour = new Date().getHours();
  const time = hour < 5 || hour >= 18 ? "Good evening" : hour < 12 ? "Good morning" : "Good afternoon";
  const first = name.includes("@") ? "" : (name.split(/\s+/)[0] ?? "");
  return first ? `${time}, ${first}` : time;
}
