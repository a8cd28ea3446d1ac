/** Where the traces of runs go, what of them, and what became of the team's. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Activity, CircleAlert, CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { api, data } from "@/api/client";
import { problemOf } from "@/api/problem";
import { WATCHED } from "@/api/queries";
import { observabilityQuery } from "@/api/team-queries";
import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { Empty } from "@/components/ui/empty";
import { Field, Select } from "@/components/ui/field";
import { Card, Page } from "@/components/ui/page";
import { ProblemNote } from "@/components/ui/problem-note";
import { SkeletonRows } from "@/components/ui/skeleton";
import { useToast } from "@/components/ui/toast";
import { formatAgo, formatDuration, formatMoment } from "@/lib/format";
import type { Me, Observability, TraceAccountView, TraceServiceView } from "@/protocol/api";

const NAMES = { openai: "OpenAI dashboard", otlp: "OpenTelemetry collector" } as const;
const SENT: [Observability["traces"], string][] = [
  ["content", "Everything, including texts"],
  ["structure", "Structure, times and tokens only"],
  ["off", "Nothing to the OpenAI dashboard"],
];

export function ObservabilitySection({ me }: { me: Me }): ReactNode {
  const state = useQuery({ ...observabilityQuery, ...WATCHED });
  return (
    <Page
      title="Observability"
      description="Every run that ends can be sent as a trace to the services that the server's administrator has set up."
    >
      {state.isPending && <SkeletonRows rows={3} className="h-24" />}
      {state.isError && <ProblemNote problem={state.error} onRetry={() => void state.refetch()} />}
      {state.data && state.data.services.length === 0 && (
        <Empty icon={Activity} title="Traces are not sent anywhere">
          The administrator sets OPENAI_API_KEY, OPENAI_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT on the
          server. docs/traces.md describes them.
        </Empty>
      )}
      {state.data && state.data.services.length > 0 && (
        <div className="flex flex-col gap-5">
          <WhatIsSent traces={state.data.traces} mayChange={me.permissions.includes("manage")} />
          {state.data.services.map((service) => (
            <Service key={service.name} service={service} />
          ))}
        </div>
      )}
    </Page>
  );
}

function WhatIsSent({
  traces,
  mayChange,
}: {
  traces: Observability["traces"];
  mayChange: boolean;
}): ReactNode {
  const queryClient = useQueryClient();
  const toast = useToast();
  const change = useMutation({
    mutationFn: (next: Observability["traces"]) =>
      data(api.PATCH("/api/observability", { body: { traces: next } })),
    onSuccess: (changed) => {
      queryClient.setQueryData(observabilityQuery.queryKey, changed);
      toast.done("Saved for runs that are sent from now on");
    },
    onError: (thrown) => toast.failed(thrown),
  });
  return (
    <Card>
      <Field
        label="What is sent of this team's runs"
        hint="Texts are messages, instructions, and what tools get and return."
        className="max-w-md"
      >
        {(control) => (
          <Select
            {...control}
            value={change.isPending ? change.variables : traces}
            disabled={!mayChange}
            onChange={(event) => change.mutate(event.target.value as Observability["traces"])}
          >
            {SENT.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
    </Card>
  );
}

function Service({ service }: { service: TraceServiceView }): ReactNode {
  const sent = sum(service.accounts, "sent");
  const refused = sum(service.accounts, "refused");
  const failing = service.accounts.some(({ failures }) => failures > 0);
  const problems = service.accounts.filter(({ error_message }) => error_message !== null);
  return (
    <section aria-label={NAMES[service.name]} className="rounded-2xl border border-line bg-raised p-5">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h2 className="flex flex-wrap items-center gap-2 text-sm font-semibold">
            {NAMES[service.name]}
            {failing ? <Badge tone="warn">Retrying</Badge> : <Badge tone="good">On</Badge>}
            {!service.content && <Badge>Without texts</Badge>}
          </h2>
          <p className="mt-1 font-mono text-xs text-soft wrap-anywhere">{service.address}</p>
        </div>
        <TestButton service={service} />
      </div>
      <dl className="mt-4 grid grid-cols-2 gap-x-8 gap-y-3 text-sm sm:grid-cols-4">
        <Figure name="Runs sent">{sent}</Figure>
        <Figure name="Refused">{refused}</Figure>
        <Figure name="Waiting">
          {service.waiting}
          {service.waiting_since !== null && (
            <span className="text-soft"> · oldest {formatAgo(service.waiting_since)}</span>
          )}
        </Figure>
        <Figure name="Last sent">{lastSent(service.accounts)}</Figure>
      </dl>
      {problems.map((account) => (
        <LastProblem key={String(account.own)} account={account} />
      ))}
    </section>
  );
}

function LastProblem({ account }: { account: TraceAccountView }): ReactNode {
  const now = account.failures > 0;
  const whose = account.own ? "With the team's own key: " : "";
  return (
    <div
      className={`mt-4 flex items-start gap-2 rounded-xl px-4 py-3 text-sm ${now ? "bg-warn-soft text-warn" : "bg-hover text-soft"}`}
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="min-w-0 wrap-anywhere">
        <p>
          {whose}
          {account.error_message} <span className="font-mono text-xs">{account.error_code}</span>
        </p>
        <p className="mt-0.5 text-xs">
          {account.error_at !== null && (
            <span title={formatMoment(account.error_at)}>Last problem {formatAgo(account.error_at)}</span>
          )}
          {now &&
            account.retry_at !== null &&
            `. ${account.failures} failed in a row; next attempt ${when(account.retry_at)}.`}
        </p>
      </div>
    </div>
  );
}

function TestButton({ service }: { service: TraceServiceView }): ReactNode {
  const queryClient = useQueryClient();
  const test = useMutation({
    mutationFn: () => data(api.POST("/api/observability/test", { body: { service: service.name } })),
    onSettled: () => queryClient.invalidateQueries(observabilityQuery),
  });
  return (
    <div className="flex min-w-0 flex-col items-start gap-2 sm:items-end">
      <Button size="small" busy={test.isPending} onClick={() => test.mutate()}>
        Send a test trace
      </Button>
      <div role="status" className="min-w-0 text-[0.8125rem]">
        {test.data?.ok && (
          <p className="flex items-center gap-1.5 text-good">
            <CircleCheck className="size-4 shrink-0" aria-hidden /> Accepted in {formatDuration(test.data.ms)}
            .
          </p>
        )}
        {test.data && !test.data.ok && <p className="text-bad wrap-anywhere">{test.data.error_message}</p>}
        {test.isError && <p className="text-bad wrap-anywhere">{problemOf(test.error).message}</p>}
      </div>
    </div>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-soft">{name}</dt>
      <dd className="mt-0.5 tabular-nums wrap-anywhere">{children}</dd>
    </div>
  );
}

function sum(accounts: TraceAccountView[], name: "sent" | "refused"): number {
  return accounts.reduce((total, account) => total + account[name], 0);
}

function lastSent(accounts: TraceAccountView[]): string {
  const last = Math.max(0, ...accounts.map(({ sent_at }) => sent_at ?? 0));
  return last > 0 ? formatAgo(last) : "Never";
}

function when(moment: number): string {
  const seconds = Math.ceil((moment - Date.now()) / 1000);
  return seconds <= 0 ? "now" : `in ${formatDuration(seconds * 1000)}`;
}
