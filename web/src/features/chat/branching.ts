/** Makes branches and chooses among them. It is loaded when it is needed first. */
import { api, data } from "@/api/client";
import { newKey } from "@/lib/new-key";
import type { SessionView } from "@/protocol/api";
import type { Content } from "@/protocol/commands";
import { withCopiedFiles } from "./copied-files";
import { forkOnce } from "./fork-once";

const LONGEST_TITLE = 190;

/** Answers the message of a run again, by another model if one is given. */
export async function regenerate(runId: string, model?: string): Promise<void> {
  const params = { path: { run_id: runId }, header: { "Idempotency-Key": newKey() } };
  const body = model === undefined ? null : { model_name: model };
  await data(api.POST("/api/runs/{run_id}/regenerate", { params, body }));
}

/** Lets every client of a session show the path to a run, which the next message continues. */
export async function chooseLeaf(sessionId: string, leaf: string): Promise<void> {
  const params = { path: { session_id: sessionId } };
  await data(api.PATCH("/api/agent-sessions/{session_id}", { params, body: { leaf_run_id: leaf } }));
}

/** The leaf to choose so that a run is shown; null if it is on the chosen path. */
export async function leafToShow(sessionId: string, runId: string): Promise<string | null> {
  const [chosen, wanted] = await Promise.all(
    [undefined, runId].map((leaf) => {
      const query = { tail: true, limit: 1, ...(leaf === undefined ? {} : { leaf }) };
      const params = { path: { session_id: sessionId }, query };
      return data(api.GET("/api/agent-sessions/{session_id}", { params }));
    }),
  );
  const last = wanted?.branches.at(-1);
  if (!last || chosen?.branches.some((branch) => branch.run_id === last.run_id)) return null;
  return last.alternatives.find((other) => other.run_id === last.run_id)?.leaf_run_id ?? null;
}

/** Copies a chat up to a message; returns the copy and the content to send there instead of that message. */
export async function copyChat(
  sessionId: string,
  before: string,
  content: Content,
  title: string,
): Promise<{ fork: SessionView; content: Content }> {
  const copied = await withCopiedFiles(content);
  const fork = await forkOnce(sessionId, before, title ? copyTitle(title) : undefined);
  return { fork, content: copied };
}

/** The title of a chat's copy; that of a copy's copy is the copy's. */
export function copyTitle(title: string): string {
  return /\(copy\)$/.test(title) ? title : `${[...title].slice(0, LONGEST_TITLE).join("")} (copy)`;
}
