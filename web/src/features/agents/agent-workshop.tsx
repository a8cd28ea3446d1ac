/** The form with the try-it panel beside it; on a small screen one of the two is shown. */
import { FlaskConical, SlidersHorizontal } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { Button } from "@/components/ui/button";
import { useToast } from "@/components/ui/toast";
import { cx } from "@/lib/class-names";
import type { AgentView } from "@/protocol/api";
import { AgentEditor } from "./agent-editor";
import { AgentRuns } from "./agent-runs";
import { valuesOf } from "./agent-values";
import { TryPanel } from "./try-panel";

const VIEWS = [
  { id: "form", label: "Settings", icon: SlidersHorizontal },
  { id: "try", label: "Try it", icon: FlaskConical },
] as const;

export function AgentWorkshop({ agent }: { agent: AgentView }): ReactNode {
  const [view, setView] = useState<(typeof VIEWS)[number]["id"]>("form");
  const [dirty, setDirty] = useState(false);
  const toast = useToast();
  const initial = useMemo(() => valuesOf(agent), [agent]);
  return (
    <>
      <fieldset className="relative mb-4 grid grid-cols-2 gap-1 rounded-xl bg-panel p-1 xl:hidden">
        <legend className="sr-only">What to show</legend>
        {VIEWS.map(({ id, label, icon: Icon }) => (
          <Button
            key={id}
            look={view === id ? "plain" : "quiet"}
            size="small"
            aria-pressed={view === id}
            onClick={() => setView(id)}
          >
            <Icon className="size-4" aria-hidden />
            {label}
          </Button>
        ))}
      </fieldset>
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_25rem]">
        <div className={cx("min-w-0", view !== "form" && "max-xl:hidden")}>
          <AgentEditor
            agentId={agent.id}
            initial={initial}
            version={agent.updated_at}
            onDirty={setDirty}
            onSaved={(saved) => toast.done(`${saved.name} was saved.`)}
          />
        </div>
        <div
          className={cx(
            "flex min-w-0 flex-col gap-4 xl:sticky xl:top-6 xl:h-[calc(100dvh-7rem)] xl:overflow-y-auto",
            view !== "try" && "max-xl:hidden",
          )}
        >
          <TryPanel agent={agent} dirty={dirty} />
          <AgentRuns agentId={agent.id} />
        </div>
      </div>
    </>
  );
}
