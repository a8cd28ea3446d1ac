/** An HTTP tool of the team's own, new or kept: its form, and beside it a place to try it. */
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Copy, Sparkles, Trash2 } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ifMatch, isOvertaken } from "@/api/if-match";
import { agentsQuery, agentToolsQuery, toolsQuery } from "@/api/queries";
import { Button, buttonClass } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Card, Page } from "@/components/ui/page";
import { useToast } from "@/components/ui/toast";
import { useUnsavedGuard } from "@/components/unsaved-guard";
import type { AgentToolDetails, HttpToolBody } from "@/protocol/api";
import { BackToTools } from "./back-to-tools";
import { BESIDE } from "./beside";
import { HttpToolForm } from "./http-tool-form";
import { bodyOf, EMPTY, EXAMPLE, formOf, type ToolForm } from "./tool-form";
import { ToolUsers } from "./tool-users";
import { TrialConsole } from "./trial-console";
import { useDeleteTool } from "./use-delete-tool";

interface HttpToolEditorProps {
  /** The tool that is kept; without it a new one is made. */
  tool?: AgentToolDetails;
  /** What a new one begins with, such as a copy. */
  start?: ToolForm | undefined;
  taken: string[];
}

export function HttpToolEditor({ tool, start, taken }: HttpToolEditorProps): ReactNode {
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const confirm = useConfirm();
  const remove = useDeleteTool();
  const [begun] = useState(start);
  const [seen, setSeen] = useState(tool?.updated_at);
  const form = useForm<ToolForm>({ mode: "onChange", defaultValues: tool ? formOf(tool) : EMPTY });
  const { reset, formState } = form;
  const { isDirty } = formState;
  const release = useUnsavedGuard(isDirty);
  useEffect(() => {
    if (begun) reset(begun, { keepDefaultValues: true });
  }, [begun, reset]);
  const written = useRef(false);
  written.current = isDirty;
  useEffect(() => {
    // Another user may have saved it: show that version, unless unsaved text would be lost.
    if (!tool || written.current) return;
    reset(formOf(tool));
    setSeen(tool.updated_at);
  }, [tool, reset]);

  const overtaken = isDirty && seen !== tool?.updated_at;
  /** Null if another user saved first, whose version the page then shows. */
  const replace = async (id: string, body: HttpToolBody) => {
    const header = ifMatch(overtaken ? tool?.updated_at : seen);
    try {
      return await data(
        api.PUT("/api/agent-tools/{tool_id}", { params: { path: { tool_id: id }, header }, body }),
      );
    } catch (thrown) {
      if (!isOvertaken(thrown)) throw thrown;
      await client.fetchQuery({ ...agentToolsQuery, staleTime: 0 });
      return null;
    }
  };
  const save = async (values: ToolForm) => {
    const body = bodyOf(values);
    const saved = tool ? await replace(tool.id, body) : await data(api.POST("/api/agent-tools", { body }));
    if (saved === null) return;
    client.setQueryData(agentToolsQuery.queryKey, (before) => [
      ...(before ?? []).filter(({ id }) => id !== saved.id),
      saved,
    ]);
    reset(formOf(saved));
    setSeen(saved.updated_at);
    toast.done(tool ? `Tool "${saved.name}" saved` : `Tool "${saved.name}" created`);
    const unchecked = saved.unchecked_patterns.join(", ");
    if (unchecked) toast.done(`Arguments are not checked against these patterns: ${unchecked}`);
    if (!tool) {
      release();
      await navigate({ to: "/tools/$toolId", params: { toolId: saved.id } });
    }
    await Promise.all(
      [agentsQuery, agentToolsQuery, toolsQuery].map(({ queryKey }) =>
        client.invalidateQueries({ queryKey }),
      ),
    );
  };
  const discard = () => {
    reset(tool ? formOf(tool) : EMPTY);
    setSeen(tool?.updated_at);
  };
  const fillIn = async () => {
    const sure =
      !isDirty ||
      (await confirm({
        title: "Replace with the example?",
        message: "It replaces what you entered.",
        action: "Replace",
      }));
    if (sure) reset(EXAMPLE, { keepDefaultValues: true });
  };
  const leave = async () => {
    release();
    await navigate({ to: "/tools" });
  };
  return (
    <Page
      title={tool?.name ?? "New tool"}
      description="A request to a web service, with values supplied by the model."
      above={<BackToTools />}
      wide
      actions={
        tool ? (
          <>
            <Link to="/tools/new" search={{ copy: tool.id }} className={buttonClass()}>
              <Copy className="size-4" aria-hidden />
              Duplicate
            </Link>
            <Button onClick={() => void remove(tool, leave)}>
              <Trash2 className="size-4" aria-hidden />
              Delete
            </Button>
          </>
        ) : (
          <Button onClick={() => void fillIn()}>
            <Sparkles className="size-4" aria-hidden />
            Use an example
          </Button>
        )
      }
    >
      <div className="grid gap-5 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <HttpToolForm
          form={form}
          taken={taken}
          stored={tool ? { url: tool.url ?? "", headers: tool.headers ?? [] } : undefined}
          isNew={!tool}
          overtaken={overtaken}
          onSave={save}
          onDiscard={discard}
        />
        <div className={BESIDE}>
          {tool ? (
            <>
              <TrialConsole key={tool.id} tool={tool} unsaved={isDirty} />
              <ToolUsers tool={tool} />
            </>
          ) : (
            <Card title="Try it">
              <p className="text-sm text-soft">
                After you create the tool, you can test it here: see the request, the response and what the
                model reads. Then assign it to agents.
              </p>
            </Card>
          )}
        </div>
      </div>
    </Page>
  );
}
