/** The time axis of the waterfall: the part of it that is looked at, its marks, and where a bar goes. */

export interface Window {
  fromMs: number;
  toMs: number;
}

const SHORTEST_MS = 2;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Lengths of time that people count in. */
const ROUND_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((each) => each * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE_MS),
  ...[1, 2, 6, 12, 24].map((each) => each * HOUR_MS),
];

/** Round times on the axis, at most about as many as there is room for. */
export function marksOf({ fromMs, toMs }: Window, most = 6): number[] {
  const length = toMs - fromMs;
  if (length <= 0) return [fromMs];
  const step = ROUND_MS.find((each) => length / each <= most) ?? Math.ceil(length / most / DAY_MS) * DAY_MS;
  const marks: number[] = [];
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs; at += step) marks.push(at);
  return marks;
}

/** Where a bar is drawn, in percent of the window; null if it is outside. */
export function placeIn(
  window: Window,
  startMs: number,
  endMs: number,
): { left: number; width: number } | null {
  const length = Math.max(SHORTEST_MS, window.toMs - window.fromMs);
  if (endMs < window.fromMs || startMs > window.toMs) return null;
  const left = Math.max(0, (startMs - window.fromMs) / length);
  const right = Math.min(1, (endMs - window.fromMs) / length);
  return { left: left * 100, width: Math.max(0, right - left) * 100 };
}

/** Half or twice as much time around its middle, or around a moment, never beyond the run. */
export function zoom(window: Window, factor: number, lengthMs: number, around?: number): Window {
  const middle = around ?? (window.fromMs + window.toMs) / 2;
  const length = Math.min(lengthMs, Math.max(SHORTEST_MS, (window.toMs - window.fromMs) * factor));
  return inside({ fromMs: middle - length / 2, toMs: middle + length / 2 }, lengthMs);
}

/** The next part of the run: by half a window, back or ahead. */
export function shift(window: Window, direction: -1 | 1, lengthMs: number): Window {
  const by = ((window.toMs - window.fromMs) / 2) * direction;
  return inside({ fromMs: window.fromMs + by, toMs: window.toMs + by }, lengthMs);
}

function inside({ fromMs, toMs }: Window, lengthMs: number): Window {
  const length = Math.min(lengthMs, toMs - fromMs);
  const from = Math.min(Math.max(0, fromMs), lengthMs - length);
  return { fromMs: from, toMs: from + length };
}
