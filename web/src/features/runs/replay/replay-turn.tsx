/** A run as a conversation: what was asked, and the parts of the answer so far. */
import { Bot, Brain, CircleAlert, Info, Wrench } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense } from "react";
import { Badge } from "@/components/ui/badge";
import { prettyJson } from "@/lib/format";
import { type CallPart, type Part, type Turn, textOf } from "@/state/thread";

const Markdown = lazy(async () => ({ default: (await import("@/components/markdown/markdown")).Markdown }));

export function ReplayTurn({ turn }: { turn: Turn }): ReactNode {
  const last = turn.parts.at(-1);
  return (
    <>
      {turn.asked.map((asked) => (
        <p
          key={asked.id}
          className="ml-auto max-w-[85%] rounded-2xl bg-panel px-4 py-2.5 whitespace-pre-wrap wrap-anywhere"
        >
          {textOf(asked.content) || "(an attachment)"}
        </p>
      ))}
      {turn.parts.map((part) => (
        <ReplayPart
          key={`${part.kind} ${part.id}`}
          part={part}
          live={turn.status === "running" && part === last}
        />
      ))}
      <End turn={turn} />
    </>
  );
}

const ReplayPart = memo(function ReplayPart({ part, live }: { part: Part; live: boolean }): ReactNode {
  switch (part.kind) {
    case "text":
      return (
        <div className="min-w-0">
          <Suspense fallback={<p className="whitespace-pre-wrap">{part.text}</p>}>
            <Markdown text={part.text} live={live} />
          </Suspense>
        </div>
      );
    case "system":
      return (
        <p className="border-l-2 border-line pl-3 text-sm whitespace-pre-wrap wrap-anywhere text-soft">
          <span className="font-medium">System:</span> {part.text}
        </p>
      );
    case "reasoning":
      return (
        <div className="flex gap-2 border-l-2 border-line pl-3 text-sm text-soft">
          <Brain className="mt-1 size-3.5 shrink-0" aria-hidden />
          <p className="min-w-0 whitespace-pre-wrap wrap-anywhere">
            <span className="sr-only">Reasoning: </span>
            {part.text}
          </p>
        </div>
      );
    case "call":
      return <Call call={part} />;
    case "subagent":
      return (
        <section aria-label={`Sub-agent ${part.name}`} className="rounded-xl border border-line p-3">
          <p className="mb-2 flex items-center gap-2 text-sm font-medium">
            <Bot className="size-4" aria-hidden />
            {part.name}
            {part.status === "failed" && <Badge tone="bad">{part.message ?? "failed"}</Badge>}
          </p>
          <div className="flex flex-col gap-3">
            {part.parts.map((inner) => (
              <ReplayPart key={`${inner.kind} ${inner.id}`} part={inner} live={false} />
            ))}
          </div>
        </section>
      );
    case "notice":
      return (
        <p className="flex items-start gap-2 text-sm text-soft">
          {part.level === "error" ? (
            <CircleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden />
          ) : (
            <Info className="mt-0.5 size-4 shrink-0" aria-hidden />
          )}
          <span className="min-w-0 wrap-anywhere">{part.message}</span>
        </p>
      );
  }
});

function Call({ call }: { call: CallPart }): ReactNode {
  const done = call.result !== null;
  return (
    <section aria-label={`Tool ${call.name}`} className="rounded-xl border border-line bg-raised p-3 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        <Wrench className="size-4 text-soft" aria-hidden />
        <span className="font-mono text-[0.8125rem] font-medium">{call.name}</span>
        {call.error ? (
          <Badge tone="bad">{call.error}</Badge>
        ) : (
          <Badge tone={done ? "good" : "accent"}>{done ? "Done" : call.asked ? "Running" : "Asking"}</Badge>
        )}
        {!done && call.progress?.message && <span className="text-soft">{call.progress.message}</span>}
      </p>
      {call.args && <Code text={prettyJson(call.args)} />}
      {call.result !== null && <Code text={prettyJson(textOf(call.result))} />}
    </section>
  );
}

function Code({ text }: { text: string }): ReactNode {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="mt-2 max-h-48 overflow-auto rounded-lg bg-panel p-2.5 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
    >
      {text}
    </pre>
  );
}

function End({ turn }: { turn: Turn }): ReactNode {
  if (turn.error)
    return (
      <p className="flex items-start gap-2 rounded-xl bg-bad-soft px-4 py-3 text-sm text-bad">
        <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
        <span className="min-w-0 wrap-anywhere">
          {turn.error.message} <span className="font-mono text-xs">{turn.error.code}</span>
        </span>
      </p>
    );
  if (turn.status === "cancelled") return <p className="text-sm text-soft">The run was stopped here.</p>;
  if (turn.status === "interrupted")
    return turn.questions.map((question) => (
      <p key={question.id} className="rounded-xl bg-warn-soft px-4 py-3 text-sm text-warn">
        {question.message || "The run waits for approval."}
      </p>
    ));
  return null;
}
