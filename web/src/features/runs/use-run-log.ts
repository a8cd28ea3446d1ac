/** React's view of a run's log. */
import { useMemo, useSyncExternalStore } from "react";
import { type LogState, RunLog } from "./run-log";

export interface WatchedLog extends LogState {
  retry: () => void;
}

export function useRunLog(runId: string): WatchedLog {
  const log = useMemo(() => new RunLog(runId), [runId]);
  const state = useSyncExternalStore(log.watch, log.get);
  return useMemo(() => ({ ...state, retry: log.retry }), [state, log]);
}
