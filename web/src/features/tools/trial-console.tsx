/** Tries a tool for real: arguments, a button, and what came of it. */

import { useMutation } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { type FormEvent, type ReactNode, useMemo, useState } from "react";
import { api, data } from "@/api/client";
import { ArgumentsForm } from "@/components/arguments/arguments-form";
import {
  argumentFields,
  firstTyped,
  readArguments,
  typedArguments,
} from "@/components/arguments/call-arguments";
import { JsonEditor } from "@/components/json/json-editor";
import { parseJson } from "@/components/json/parse-json";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Card } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { Tabs } from "@/components/ui/tabs";
import { isObject, type JsonObject, writeJson } from "@/lib/json";
import type { AgentToolDetails, ToolTrial } from "@/protocol/api";
import { TrialResult } from "./trial-result";

interface TrialConsoleProps {
  tool: AgentToolDetails;
  /** There are changes that the try does not see. */
  unsaved?: boolean;
}

export function TrialConsole({ tool, unsaved = false }: TrialConsoleProps): ReactNode {
  const fields = useMemo(() => argumentFields(tool.parameters), [tool.parameters]);
  const [way, setWay] = useState("fields");
  const [typed, setTyped] = useState(() => firstTyped(fields));
  const [more, setMore] = useState<JsonObject>({});
  const [text, setText] = useState("");
  const [showsProblems, setShowsProblems] = useState(false);
  const confirm = useConfirm();
  const run = useMutation({ mutationFn: (given: JsonObject) => tryTool(tool, given) });

  const read = readArguments(fields, typed, more);
  const parsed = parseJson(text);
  const written = parsed.ok && isObject(parsed.value) ? parsed.value : undefined;
  const given = way === "json" ? written : Object.keys(read.problems).length === 0 ? read.value : undefined;
  const turn = (next: string) => {
    if (next === "json") setText(writeJson(read.value));
    else if (written) {
      const back = typedArguments(fields, written);
      setTyped(back.typed);
      setMore(back.more);
    }
    setWay(next);
  };
  const type = (name: string, value: string) => {
    setTyped({ ...typed, [name]: value });
    const { [name]: _, ...others } = more;
    setMore(others);
  };
  const start = async (event: FormEvent) => {
    event.preventDefault();
    setShowsProblems(true);
    if (!given || run.isPending) return;
    const sure = tool.approval === "never" || (await confirm(askedFirst(tool.name)));
    if (sure) run.mutate(given);
  };
  return (
    <Card title="Try it">
      <form onSubmit={(event) => void start(event)} noValidate className="flex flex-col gap-4">
        <p className="-mt-2 text-[0.8125rem] text-soft">
          This makes a real request{tool.effect === "read" ? "." : " with real effects."}
        </p>
        {unsaved && (
          <p className="rounded-xl bg-warn-soft px-3.5 py-2.5 text-[0.8125rem] text-warn" role="status">
            This tests the saved version. Save to test your changes.
          </p>
        )}
        <Tabs
          label="Arguments"
          value={way}
          onChange={turn}
          tabs={[
            {
              id: "fields",
              title: "Arguments",
              content: (
                <ArgumentsForm
                  fields={fields}
                  typed={typed}
                  problems={showsProblems ? read.problems : {}}
                  onType={type}
                />
              ),
            },
            {
              id: "json",
              title: "JSON",
              content: (
                <JsonEditor
                  label="Arguments as JSON"
                  rows={8}
                  value={text}
                  onChange={setText}
                  schema={tool.parameters}
                  problem={parsed.ok && !written ? "The arguments must be a JSON object." : undefined}
                />
              ),
            },
          ]}
        />
        {way === "fields" && Object.keys(more).length > 0 && (
          <p className="text-[0.8125rem] text-soft">
            Also sent, from the JSON: <code className="font-mono">{Object.keys(more).join(", ")}</code>
          </p>
        )}
        <div>
          <Button type="submit" look="primary" busy={run.isPending} disabled={way === "json" && !written}>
            {!run.isPending && <Play className="size-3.5" aria-hidden />}
            Run
          </Button>
        </div>
      </form>
      <div aria-live="polite" className="empty:hidden">
        {run.error && (
          <div className="mt-4">
            <ProblemNote problem={run.error} />
          </div>
        )}
        {run.data && !run.isPending && <TrialResult trial={run.data} />}
      </div>
    </Card>
  );
}

const askedFirst = (name: string) => ({
  title: `Run ${name}?`,
  message: "Agents need approval for this tool. Here it runs immediately.",
  action: "Run",
});

/** A try, with what it was given and the tool as it was then. */
export interface Trial extends Omit<ToolTrial, "request"> {
  request: ToolTrial["request"];
  given: JsonObject;
  of: AgentToolDetails;
}

async function tryTool(tool: AgentToolDetails, given: JsonObject): Promise<Trial> {
  const call = { params: { path: { tool_id: tool.id } }, body: { arguments: given } };
  return { ...(await data(api.POST("/api/agent-tools/{tool_id}/test", call))), given, of: tool };
}
