/** The fields of a profile as rows of a form, and what of them changed. */
export interface Row {
  name: string;
  value: string;
}

export const MAX_VALUE_CHARS = 2000;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;

export function rowsOf(fields: Record<string, string>): Row[] {
  return Object.entries(fields)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, value]) => ({ name, value }));
}

/** What to send: fields that are new or other, and null for those that are gone. */
export function changesOf(before: Record<string, string>, rows: Row[]): Record<string, string | null> {
  const after = new Map(rows.map(({ name, value }) => [name.trim(), value.trim()]));
  const changes: Record<string, string | null> = {};
  for (const name of Object.keys(before)) if (!after.has(name)) changes[name] = null;
  for (const [name, value] of after) if (before[name] !== value) changes[name] = value;
  return changes;
}

/** What is wrong with a field's name among the others. */
export function nameProblem(name: string, rows: Row[]): string | undefined {
  const plain = name.trim();
  if (plain === "") return "Enter a name, or remove the field.";
  if (!NAME.test(plain)) return "Use up to 64 of a-z, 0-9 and _, starting with a letter.";
  return rows.filter((row) => row.name.trim() === plain).length > 1
    ? "This name is already used."
    : undefined;
}
