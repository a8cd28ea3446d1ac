/** The one HTTP client: typed by the server's own description, refusing with a `Problem`. */
import createClient, { type Middleware } from "openapi-fetch";
import type { paths } from "@/protocol/api";
import { Problem } from "./problem";

type Listener = () => void;
const unauthenticated = new Set<Listener>();

/** Calls a listener whenever the server no longer knows who we are; returns how to stop. */
export function onUnauthenticated(listener: Listener): () => void {
  unauthenticated.add(listener);
  return () => unauthenticated.delete(listener);
}

const refusals: Middleware = {
  async onResponse({ response, schemaPath }) {
    if (response.ok) return undefined;
    const problem = await refusalOf(response);
    if (problem.code === "unauthenticated" && schemaPath !== "/api/me")
      for (const tell of unauthenticated) tell();
    throw problem;
  },
};

export async function refusalOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null);
  const error = (
    body as { error?: { code?: string; message?: string; details?: Record<string, unknown> } } | null
  )?.error;
  const fallback =
    response.status >= 500
      ? "The server has a problem. Try again in a moment."
      : `The server refused this (${response.status}).`;
  return new Problem(
    error?.code ?? "unexpected",
    error?.message ?? fallback,
    response.status,
    error?.details,
  );
}

const client = createClient<paths>({ baseUrl: "/", fetch: (request) => fetch(request) });
client.use(refusals);

/** `api.GET("/api/agents", ...)` and so on; what it answers with has `data`, or it throws a `Problem`. */
export const api = client;

/** Unwraps an answer that cannot be without data, because a refusal throws. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
