/** What came of a try: what was sent, what came back, and what a model would read. */

import { CircleAlert, CircleCheck } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Badge, type Tone } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { formatDuration, prettyJson } from "@/lib/format";
import { writeJson } from "@/lib/json";
import { failureWords } from "@/lib/tool-words";
import type { Trial } from "./trial-console";
import { placeholders } from "./url-template";

const MASK = "[secret]";

export function TrialResult({ trial }: { trial: Trial }): ReactNode {
  const { ok, error, duration_ms } = trial;
  return (
    <section aria-label="Result" className="mt-5 flex flex-col gap-4 border-t border-line pt-4">
      <div className="flex flex-wrap items-center gap-2 text-sm">
        {ok ? (
          <CircleCheck className="size-4 text-good" aria-hidden />
        ) : (
          <CircleAlert className="size-4 text-bad" aria-hidden />
        )}
        <h3 className="font-medium">{ok ? "Succeeded" : failureWords(error?.code ?? "")}</h3>
        {error && <code className="font-mono text-xs text-soft">{error.code}</code>}
        <span className="ml-auto text-xs text-soft">{formatDuration(duration_ms)}</span>
      </div>
      {trial.request && <Request trial={trial} request={trial.request} />}
      <Content content={trial.content} ok={ok} path={ok ? trial.of.result_path : null} />
    </section>
  );
}

function statusTone(status: number): Tone {
  if (status >= 400) return "bad";
  return status >= 300 ? "warn" : "good";
}

function Request({ trial, request }: { trial: Trial; request: NonNullable<Trial["request"]> }): ReactNode {
  const headers = trial.of.headers ?? [];
  const inUrl = placeholders(trial.of.url ?? "");
  const body = Object.entries(trial.given).filter(([name]) => !inUrl.includes(name));
  const hasBody = !["GET", "HEAD", "DELETE"].includes(request.method);
  return (
    <div>
      <h4 className="mb-1.5 text-xs font-medium text-soft">Request</h4>
      <div className="rounded-xl bg-panel px-3.5 py-3 font-mono text-xs">
        <p className="wrap-anywhere">
          <span className="font-semibold">{request.method}</span> {request.url}
        </p>
        {headers.map(({ name, value, secret }) => (
          <p key={name} className="mt-1 wrap-anywhere text-soft">
            {name}: {secret ? MASK : value}
          </p>
        ))}
        {hasBody && (
          <pre className="mt-2 whitespace-pre-wrap wrap-anywhere">{writeJson(Object.fromEntries(body))}</pre>
        )}
      </div>
      <p className="mt-2 flex items-center gap-2 text-xs text-soft">
        {request.status === null ? (
          <Badge tone="bad">No response</Badge>
        ) : (
          <Badge tone={statusTone(request.status)}>Status {request.status}</Badge>
        )}
        in {formatDuration(request.duration_ms)}
      </p>
    </div>
  );
}

interface ContentProps {
  content: Trial["content"];
  ok: boolean;
  path: string | null;
}

function Content({ content, ok, path }: ContentProps): ReactNode {
  const [raw, setRaw] = useState(false);
  const text = typeof content === "string" ? content : writeJson(content);
  const pretty = prettyJson(text);
  return (
    <div>
      <div className="mb-1 flex items-center gap-2">
        <h4 className="text-xs font-medium text-soft">What the model reads</h4>
        {path && (
          <span className="min-w-0 truncate text-xs text-soft">
            at <code className="font-mono">{path}</code>
          </span>
        )}
        <span className="ml-auto flex items-center">
          {pretty !== text && (
            <Button look="quiet" size="small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
              Raw
            </Button>
          )}
          <CopyButton text={text} label="Copy result" />
        </span>
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard too
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-xl bg-panel px-3.5 py-3 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
      >
        {(raw ? text : pretty) || (ok ? "Empty." : "")}
      </pre>
    </div>
  );
}
