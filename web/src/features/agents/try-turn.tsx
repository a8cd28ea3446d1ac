/** One turn with the tried agent: what was said, and what it did and answered. */
import { Check, CircleAlert, CircleHelp, LoaderCircle, Wrench } from "lucide-react";
import { lazy, type ReactNode, Suspense } from "react";
import { cx } from "@/lib/class-names";
import { prettyJson } from "@/lib/format";
import { type CallPart, type Part, type Turn, textOf } from "@/state/thread";

const Markdown = lazy(async () => ({ default: (await import("@/components/markdown/markdown")).Markdown }));

export function UserWords({ text }: { text: string }): ReactNode {
  return (
    <p className="max-w-[85%] self-end rounded-2xl bg-hover px-3.5 py-2 text-sm whitespace-pre-wrap wrap-anywhere">
      {text}
    </p>
  );
}

export function TryTurn({ turn }: { turn: Turn }): ReactNode {
  const waits = turn.parts.length === 0 && (turn.status === "running" || turn.status === "queued");
  return (
    <div className="flex flex-col gap-3">
      {turn.asked.map((message) => (
        <UserWords key={message.id} text={textOf(message.content)} />
      ))}
      <Parts parts={turn.parts} turn={turn} />
      {waits && (
        <p className="flex items-center gap-2 text-sm text-soft">
          <LoaderCircle className="size-4 animate-spin" aria-hidden />
          {turn.status === "queued" ? "Queued" : "Working…"}
        </p>
      )}
      {turn.error && (
        <p className="rounded-xl bg-bad-soft px-3.5 py-2 text-sm text-bad wrap-anywhere">
          {turn.error.message} <span className="font-mono text-xs">{turn.error.code}</span>
        </p>
      )}
      {turn.status === "cancelled" && <p className="text-xs text-soft">Stopped.</p>}
      {turn.status === "failed" && !turn.error && <p className="text-xs text-bad">This run failed.</p>}
      {turn.status === "expired" && (
        <p className="text-xs text-bad">Expired: it waited in the queue for too long.</p>
      )}
    </div>
  );
}

function Parts({ parts, turn }: { parts: Part[]; turn: Turn }): ReactNode {
  return parts.map((part) => {
    switch (part.kind) {
      case "text":
        return (
          <div key={part.id} className="text-sm leading-relaxed">
            <Suspense fallback={<p className="whitespace-pre-wrap wrap-anywhere">{part.text}</p>}>
              <Markdown text={part.text} live={turn.status === "running"} />
            </Suspense>
          </div>
        );
      case "system":
        return (
          <p
            key={part.id}
            className="border-l-2 border-line pl-3 text-xs whitespace-pre-wrap wrap-anywhere text-soft"
          >
            <span className="font-medium">System:</span> {part.text}
          </p>
        );
      case "reasoning":
        return (
          <details key={part.id} className="text-[0.8125rem] text-soft">
            <summary className="w-fit rounded">Thoughts</summary>
            <p className="mt-1 border-l-2 border-line pl-3 whitespace-pre-wrap wrap-anywhere">{part.text}</p>
          </details>
        );
      case "call":
        return <Call key={part.id} call={part} turn={turn} />;
      case "subagent":
        return (
          <div key={part.id} className="flex flex-col gap-3 border-l-2 border-line pl-3">
            <p className="text-xs font-medium text-soft">{part.name}</p>
            <Parts parts={part.parts} turn={turn} />
            {part.message && <p className="text-xs text-bad">{part.message}</p>}
          </div>
        );
      case "notice":
        return (
          <p key={part.id} className={cx("text-xs", part.level === "error" ? "text-warn" : "text-soft")}>
            {part.message}
          </p>
        );
      default:
        return null;
    }
  });
}

function Call({ call, turn }: { call: CallPart; turn: Turn }): ReactNode {
  const result = call.result === null ? null : textOf(call.result);
  return (
    <details className="group text-[0.8125rem]">
      <summary className="flex w-fit max-w-full items-center gap-1.5 rounded-full border border-line bg-panel px-2.5 py-1 text-soft">
        <Wrench className="size-3.5 shrink-0" aria-hidden />
        <span className="truncate font-mono text-xs">{call.name}</span>
        <CallState call={call} turn={turn} />
      </summary>
      <dl className="mt-2 flex flex-col gap-2 rounded-xl bg-panel p-3">
        <div>
          <dt className="text-xs text-soft">Arguments</dt>
          <dd className="font-mono text-xs whitespace-pre-wrap wrap-anywhere">
            {prettyJson(call.args) || "{}"}
          </dd>
        </div>
        {result !== null && (
          <div>
            <dt className="text-xs text-soft">{call.error ? "Error" : "Result"}</dt>
            <dd className="max-h-48 overflow-y-auto font-mono text-xs whitespace-pre-wrap wrap-anywhere">
              {prettyJson(result)}
            </dd>
          </div>
        )}
      </dl>
    </details>
  );
}

function CallState({ call, turn }: { call: CallPart; turn: Turn }): ReactNode {
  if (call.error)
    return <CircleAlert className="size-3.5 shrink-0 text-bad" role="img" aria-label="failed" />;
  if (call.result !== null)
    return <Check className="size-3.5 shrink-0 text-good" role="img" aria-label="done" />;
  if (turn.status === "running")
    return <LoaderCircle className="size-3.5 shrink-0 animate-spin" role="img" aria-label="running" />;
  if (turn.questions.some((question) => question.callId === call.id))
    return <CircleHelp className="size-3.5 shrink-0 text-warn" role="img" aria-label="needs approval" />;
  return null;
}
