/** Reading JSON that people write. */
import { checkJson } from "./json-check";

type Parsed = { ok: true; value: unknown } | { ok: false; problem: string };

export function parseJson(text: string): Parsed {
  const checked = checkJson(text);
  return checked.problem === null
    ? { ok: true, value: checked.value }
    : { ok: false, problem: checked.problem };
}
