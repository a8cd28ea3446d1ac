/** What went wrong, in words for people, with the server's stable code where it has one. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: Record<string, unknown>;

  constructor(code: string, message: string, status = 0, details: Record<string, unknown> = {}) {
    super(message);
    this.name = "Problem";
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

/** Reads a refusal of the server; every other thrown value becomes a problem too. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof TypeError)
    return new Problem("offline", "The server cannot be reached. Check your connection.");
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new Problem("unexpected", message);
}

/** The fields a refused body was wrong in, by name, as the server says them. */
export function fieldProblems(problem: Problem): Record<string, string> {
  const fields = problem.details.fields;
  if (!Array.isArray(fields)) return {};
  const given = fields.flatMap((entry: { path?: unknown; problem?: unknown }) =>
    typeof entry?.path === "string" && typeof entry.problem === "string" ? [[entry.path, entry.problem]] : [],
  );
  return Object.fromEntries(given);
}
