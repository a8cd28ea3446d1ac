/** What a connection to an MCP server found: that it answers, or what is wrong. */
import { CircleAlert, CircleCheck, LoaderCircle } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { problemOf } from "@/api/problem";
import { formatDuration } from "@/lib/format";
import type { McpCheck } from "@/protocol/api";
import { countOf } from "./mcp-words";

/** A line about the health of a server. */
export function Health({ check, problem, checking }: HealthProps): ReactNode {
  const failure = failureOf(check, problem);
  return (
    <p
      role="status"
      className="flex items-start gap-1.5 text-[0.8125rem] text-soft wrap-anywhere empty:hidden"
    >
      {checking ? (
        <>
          <LoaderCircle className="mt-0.5 size-3.5 shrink-0 animate-spin" aria-hidden /> Checking
        </>
      ) : failure ? (
        <>
          <CircleAlert className="mt-0.5 size-3.5 shrink-0 text-bad" aria-hidden />
          <span className="min-w-0 text-bad">
            {failure.message} <span className="font-mono text-xs">{failure.code}</span>
          </span>
        </>
      ) : (
        check && (
          <>
            <CircleCheck className="mt-0.5 size-3.5 shrink-0 text-good" aria-hidden />
            <span className="min-w-0">{healthWords(check)}</span>
          </>
        )
      )}
    </p>
  );
}

interface HealthProps {
  check: McpCheck | undefined;
  /** What the check was refused for. */
  problem?: unknown;
  checking: boolean;
}

/** The result of a test before a server is saved. */
export function TestResult({ check, problem, checking }: HealthProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const shown = check !== undefined || Boolean(problem) || checking;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new result comes into view
  useEffect(() => {
    if (shown) place.current?.scrollIntoView({ block: "nearest" });
  }, [shown, check, problem]);
  if (!shown) return null;
  return (
    <div
      ref={place}
      className={`scroll-mb-40 rounded-xl px-4 py-3 ${check?.reachable && !checking ? "bg-good-soft" : "bg-hover"}`}
    >
      <Health check={check} problem={problem} checking={checking} />
      {check?.reachable && !checking && check.tools.length > 0 && (
        <p className="mt-1 max-h-24 overflow-y-auto font-mono text-xs text-soft wrap-anywhere">
          {check.tools.join(", ")}
        </p>
      )}
    </div>
  );
}

function failureOf(check: McpCheck | undefined, problem: unknown): { code: string; message: string } | null {
  if (problem) return problemOf(problem);
  return check?.error ?? null;
}

/** "Reachable in 12 ms · fixture 1.2.3 · MCP 2026 · 9 tools". */
export function healthWords(check: McpCheck): string {
  const { latency_ms, era, server_name, server_version, tools } = check;
  return [
    latency_ms === null ? "Reachable" : `Reachable in ${formatDuration(latency_ms)}`,
    server_name && [server_name, server_version].filter(Boolean).join(" "),
    era && `MCP ${era}`,
    countOf(tools.length),
  ]
    .filter(Boolean)
    .join(" · ");
}
