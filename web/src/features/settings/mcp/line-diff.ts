/** Which lines of two texts differ: those outside their longest common subsequence. */

export interface Line {
  text: string;
  differs: boolean;
}

/** Above it, every line between the common beginning and end counts as different. */
const MOST_CELLS = 4_000_000;

export function differingLines(before: string, after: string): { before: Line[]; after: Line[] } {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const [left, right] = common(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const marked = (lines: string[], kept: Set<number>) =>
    lines.map((text, at) => ({
      text,
      differs: at >= start && at < lines.length - end && !kept.has(at - start),
    }));
  return { before: marked(old, left), after: marked(now, right) };
}

/** The places of the lines that both have, in their order. */
function common(old: string[], now: string[]): [Set<number>, Set<number>] {
  const [left, right] = [new Set<number>(), new Set<number>()];
  const width = now.length + 1;
  if (old.length * now.length > MOST_CELLS) return [left, right];
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (one: number, other: number) => longest[one * width + other] ?? 0;
  for (let one = old.length - 1; one >= 0; one -= 1)
    for (let other = now.length - 1; other >= 0; other -= 1)
      longest[one * width + other] =
        old[one] === now[other]
          ? at(one + 1, other + 1) + 1
          : Math.max(at(one + 1, other), at(one, other + 1));
  let [one, other] = [0, 0];
  while (one < old.length && other < now.length) {
    if (old[one] === now[other]) {
      left.add(one++);
      right.add(other++);
    } else if (at(one + 1, other) >= at(one, other + 1)) one += 1;
    else other += 1;
  }
  return [left, right];
}
