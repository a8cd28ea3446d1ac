/** What came of trying a connection, in words: that it works, or what is wrong and what to do. */
import { CircleAlert, CircleCheck, LoaderCircle } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { type Problem, problemOf } from "@/api/problem";
import { formatDuration } from "@/lib/format";
import type { ConnectionTest } from "@/protocol/api";

export type Trial =
  | { state: "trying"; model: string | undefined }
  | { state: "done"; test: ConnectionTest }
  | Refused;
interface Refused {
  state: "refused";
  problem: Problem;
}

/** Runs a trial, telling how it goes; what the server refuses is a result too. */
export async function runTrial(
  model: string | undefined,
  ask: () => Promise<ConnectionTest>,
  tell: (trial: Trial) => void,
): Promise<void> {
  tell({ state: "trying", model });
  try {
    tell({ state: "done", test: await ask() });
  } catch (thrown) {
    tell({ state: "refused", problem: problemOf(thrown) });
  }
}

export function ConnectionResult({ trial }: { trial: Trial | undefined }): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (trial) place.current?.scrollIntoView({ block: "nearest" });
  }, [trial]);
  return (
    <div ref={place} role="status" className="scroll-mb-40">
      {trial && <Outcome trial={trial} />}
    </div>
  );
}

function Outcome({ trial }: { trial: Trial }): ReactNode {
  if (trial.state === "trying")
    return (
      <p className="flex items-center gap-2 rounded-xl bg-hover px-4 py-3 text-sm text-soft">
        <LoaderCircle className="size-4 shrink-0 animate-spin" aria-hidden />
        {trial.model
          ? `Testing ${trial.model}. This can take up to 30 seconds.`
          : "Loading the list of models."}
      </p>
    );
  if (trial.state === "done" && trial.test.ok)
    return (
      <div className="flex items-start gap-2 rounded-xl bg-good-soft px-4 py-3 text-sm text-good">
        <CircleCheck className="mt-0.5 size-4 shrink-0" aria-hidden />
        <div className="min-w-0 wrap-anywhere">
          <p className="font-medium">
            {trial.test.model
              ? `It works: ${trial.test.model} answered in ${formatDuration(trial.test.latency_ms)}.`
              : trial.test.message}
          </p>
          {trial.test.text && <p className="mt-0.5">Answer: “{trial.test.text.trim()}”.</p>}
        </div>
      </div>
    );
  const { code, message } = trial.state === "done" ? trial.test : trial.problem;
  return (
    <div className="flex items-start gap-2 rounded-xl bg-bad-soft px-4 py-3 text-sm text-bad">
      <CircleAlert className="mt-0.5 size-4 shrink-0" aria-hidden />
      <div className="min-w-0 wrap-anywhere">
        <p>
          {message} <span className="font-mono text-xs">{code}</span>
        </p>
      </div>
    </div>
  );
}
