/** Puts what the server refused on the fields it is about; the rest is the form's own problem. */
import type { FieldValues, Path, UseFormReturn } from "react-hook-form";
import { fieldProblems, Problem, problemOf } from "./problem";

/** Delays a field's problem, so that the button of a click that leaves the field does not move away. */
export const ERROR_DELAY_MS = 250;

/** `byCode` says which field an error code is about, such as `email_taken` of an e-mail field. */
export function placeProblems<V extends FieldValues>(
  thrown: unknown,
  form: UseFormReturn<V>,
  byCode: Partial<Record<string, Path<V>>> = {},
): void {
  const problem = problemOf(thrown);
  const known = byCode[problem.code];
  if (known) {
    form.setError(known, { message: problem.message }, { shouldFocus: true });
    return;
  }
  const values = form.getValues();
  const isField = (path: string): path is Path<V> => path in values;
  const given = Object.entries(fieldProblems(problem));
  for (const [path, message] of given)
    if (isField(path)) form.setError(path, { message }, { shouldFocus: true });
  if (given.length === 0 || given.some(([path]) => !isField(path)))
    form.setError("root.server", { type: problem.code, message: problem.message });
}

/** The problem of a form that is about none of its fields. */
export function formProblem(form: {
  formState: { errors: { root?: Record<string, unknown> } };
}): Problem | undefined {
  const given = form.formState.errors.root?.server;
  if (typeof given !== "object" || given === null || !("message" in given) || !("type" in given))
    return undefined;
  return new Problem(String(given.type), String(given.message));
}
