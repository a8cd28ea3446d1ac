/** Backoff: the wait before a retry grows each time, with jitter. */
const FIRST_MS = 250;
const LONGEST_MS = 10_000;

export function backoffMs(tries: number, random: () => number = Math.random): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** tries) * (0.5 + random() / 2);
}
