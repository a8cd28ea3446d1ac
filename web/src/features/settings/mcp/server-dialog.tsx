/** Adds or changes an MCP server, which can be tested before it is saved. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { FormProvider, useForm } from "react-hook-form";
import { api, data } from "@/api/client";
import { ERROR_DELAY_MS, formProblem, placeProblems } from "@/api/form-problems";
import { ifMatch, isOvertaken } from "@/api/if-match";
import { HeadersField } from "@/components/headers/headers-field";
import { OvertakenNote } from "@/components/overtaken-note";
import { Button } from "@/components/ui/button";
import { useConfirm } from "@/components/ui/confirm";
import { Actions, Dialog } from "@/components/ui/dialog";
import { Field, Input, Select } from "@/components/ui/field";
import { ProblemNote } from "@/components/ui/problem-note";
import { Switch } from "@/components/ui/switch";
import { allowAdvice } from "@/lib/allow-advice";
import type { McpServerDetails, McpServerView } from "@/protocol/api";
import { TestResult } from "./check-result";
import {
  AUTHS,
  type Auth,
  bodyOf,
  connectionOf,
  connectsAlike,
  EMPTY,
  formOf,
  headersFor,
  LONGEST_TIMEOUT_S,
  type McpForm,
  nameProblem,
  TRANSPORTS,
  timeoutProblem,
  urlProblem,
  usesStored,
} from "./mcp-form";
import { mcpServerQuery, refreshMcpServer } from "./mcp-queries";
import { OAuthFields } from "./oauth-fields";
import { TokenField } from "./token-field";

interface ServerDialogProps {
  /** The one to change; without it a new one is added. */
  server?: McpServerView | undefined;
  onClose: () => void;
  onSaved: (server: McpServerDetails) => void;
}

const PLACES = { mcp_server_exists: "name" } as const;

export function ServerDialog(props: ServerDialogProps): ReactNode {
  const { onClose, onSaved } = props;
  const [server, setServer] = useState(props.server);
  const [seen, setSeen] = useState(server?.updated_at);
  const client = useQueryClient();
  const confirm = useConfirm();
  const form = useForm<McpForm>({
    mode: "onTouched",
    delayError: ERROR_DELAY_MS,
    defaultValues: server ? formOf(server) : EMPTY,
  });
  const { errors, isSubmitting, isDirty } = form.formState;
  const values = form.watch();
  const overtaken = server?.updated_at !== seen;
  const stored = server && { url: server.server_url ?? "", headers: server.headers };
  const test = useMutation({
    mutationFn: (entered: McpForm) =>
      server && usesStored(entered, server)
        ? data(api.POST("/api/mcp-servers/{server_id}/check", { params: { path: { server_id: server.id } } }))
        : data(api.POST("/api/mcp-servers/test", { body: connectionOf(entered) })),
  });
  const needsSaving = server !== undefined && usesStored(values, server) && !connectsAlike(values, server);
  const setAuth = (auth: Auth) => {
    form.setValue("auth", auth, { shouldDirty: true });
    form.setValue("headers", headersFor(auth, form.getValues("headers")), { shouldDirty: true });
    form.clearErrors(["token", "headers"]);
  };
  const close = async () => {
    const lost = { title: "Discard your changes?", message: "They have not been saved.", action: "Discard" };
    if (!isDirty || (await confirm({ ...lost, danger: true }))) onClose();
  };
  const tryIt = async () => {
    if (await form.trigger(["url", "token", "headers"], { shouldFocus: true })) test.mutate(form.getValues());
  };
  const save = form.handleSubmit(async (entered) => {
    const body = bodyOf(entered);
    try {
      const saved = server
        ? await data(
            api.PUT("/api/mcp-servers/{server_id}", {
              params: { path: { server_id: server.id }, header: ifMatch(server.updated_at) },
              body,
            }),
          )
        : await data(api.POST("/api/mcp-servers", { body }));
      client.setQueryData(mcpServerQuery(saved.id).queryKey, saved);
      await refreshMcpServer(client, saved.id);
      onSaved(saved);
    } catch (thrown) {
      if (!server || !isOvertaken(thrown)) return placeProblems(thrown, form, PLACES);
      setServer(await client.fetchQuery({ ...mcpServerQuery(server.id), staleTime: 0 }));
    }
  });
  const problem = formProblem(form);
  const refused = problem?.code === "egress_refused" || test.data?.error?.code === "egress_refused";
  return (
    <Dialog
      open
      wide
      onClose={() => void close()}
      title={server ? `Edit ${server.name}` : "Add an MCP server"}
      description="Its tools become available after you enable them one by one."
    >
      <FormProvider {...form}>
        <form noValidate onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
          <div className="grid gap-4 sm:grid-cols-2">
            <Field
              label="Name"
              hint="The names of its tools begin with it: github_search."
              problem={errors.name?.message}
            >
              {(control) => (
                <Input
                  {...control}
                  maxLength={40}
                  placeholder="github"
                  autoComplete="off"
                  spellCheck={false}
                  className="font-mono text-[0.8125rem]"
                  {...form.register("name", { validate: (name) => nameProblem(name) ?? true })}
                />
              )}
            </Field>
            <Field label="Transport" hint={TRANSPORTS[values.transport].meaning}>
              {(control) => (
                <Select {...control} {...form.register("transport")}>
                  <option value="http">{TRANSPORTS.http.title}</option>
                  <option value="sse">{TRANSPORTS.sse.title}</option>
                </Select>
              )}
            </Field>
          </div>
          <Field label="URL" problem={errors.url?.message}>
            {(control) => (
              <Input
                {...control}
                inputMode="url"
                maxLength={2000}
                placeholder="https://mcp.example.com/mcp"
                autoComplete="off"
                spellCheck={false}
                className="font-mono text-[0.8125rem]"
                {...form.register("url", { validate: (url) => urlProblem(url) ?? true })}
              />
            )}
          </Field>
          <Field label="Authentication" className="sm:w-1/2">
            {(control) => (
              <Select
                {...control}
                value={values.auth}
                onChange={({ target }) => setAuth(target.value as Auth)}
              >
                {Object.entries(AUTHS).map(([auth, title]) => (
                  <option key={auth} value={auth}>
                    {title}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {values.auth === "oauth" && <OAuthFields hasClient={values.clientId !== ""} />}
          {values.auth === "bearer" && <TokenField stored={server} />}
          {(values.auth === "header" || values.headers.length > 0) && <HeadersField stored={stored} />}
          <Field
            label="Timeout (seconds)"
            optional
            hint={`For a call, at most ${LONGEST_TIMEOUT_S}. Empty: the agent's, else 60.`}
            problem={errors.timeoutS?.message}
            className="sm:w-1/2"
          >
            {(control) => (
              <Input
                {...control}
                inputMode="decimal"
                autoComplete="off"
                {...form.register("timeoutS", { validate: (text) => timeoutProblem(text) ?? true })}
              />
            )}
          </Field>
          <Switch
            label="Enabled"
            hint="Agents have its tools."
            checked={values.enabled}
            onChange={(enabled) => form.setValue("enabled", enabled, { shouldDirty: true })}
          />
          <TestResult check={test.data} problem={test.error} checking={test.isPending} />
          {server && overtaken && (
            <OvertakenNote what="server">
              <Button
                size="small"
                onClick={() => {
                  form.reset(formOf(server));
                  setSeen(server.updated_at);
                }}
              >
                Discard my changes
              </Button>
            </OvertakenNote>
          )}
          {problem && <ProblemNote problem={problem} />}
          {refused && <p className="px-1 text-sm text-soft">{allowAdvice(values.url)}</p>}
          {needsSaving && (
            <p className="text-[0.8125rem] text-soft">
              The connection changed: save first to test it with the stored credentials, or enter them again.
            </p>
          )}
          <div className="sticky -bottom-5 -mx-5 -mb-5 border-t border-line bg-raised px-5 pb-5">
            <Actions>
              <Button
                className="w-full sm:mr-auto sm:w-auto"
                busy={test.isPending}
                disabled={needsSaving}
                onClick={() => void tryIt()}
              >
                Test connection
              </Button>
              <Button onClick={() => void close()}>Cancel</Button>
              <Button type="submit" look="primary" busy={isSubmitting}>
                {server ? "Save" : "Add"}
              </Button>
            </Actions>
          </div>
        </form>
      </FormProvider>
    </Dialog>
  );
}
