/** Numbers and times as people read them, in their own language and zone. */
import { escapeUnseen } from "./visible";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const compact = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const whole = new Intl.NumberFormat();

export const formatMoment = (ms: number): string => moment.format(ms);
export const formatDay = (ms: number): string => day.format(ms);
export const formatClock = (ms: number): string => clock.format(ms);
export const formatCount = (count: number): string => whole.format(count);

/** How long ago, in words: "5 minutes ago", "yesterday". */
export function formatAgo(ms: number, now: number = Date.now()): string {
  const past = now - ms;
  if (past < MINUTE) return "just now";
  if (past < 60 * MINUTE) return relative.format(-Math.floor(past / MINUTE), "minute");
  if (past < DAY) return relative.format(-Math.floor(past / (60 * MINUTE)), "hour");
  if (past < 30 * DAY) return relative.format(-Math.floor(past / DAY), "day");
  return day.format(ms);
}

/** A length of time: "320 ms", "4.2 s", "2 min 5 s", "1 h 3 min", "6 d 23 h". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < MINUTE - 500) return `${Math.round(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** "1 event", "1,200 events". */
export function formatCounted(count: number, one: string, many = `${one}s`): string {
  return `${whole.format(count)} ${count === 1 ? one : many}`;
}

/** "950 tokens", "12.3K tokens". */
export function formatTokens(tokens: number): string {
  return `${tokens < 10_000 ? whole.format(tokens) : compact.format(tokens)} ${tokens === 1 ? "token" : "tokens"}`;
}

let currency = "USD";

/** Notes what costs are in: one currency for all of a server's prices. */
export function tellCostsIn(code: string): void {
  currency = code;
}

/** "$0.0056", "€1.20": small sums keep their digits. */
export function formatCost(cost: number): string {
  const small: Intl.NumberFormatOptions =
    cost > 0 && cost < 0.01 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: cost < 1 ? 3 : 2 };
  return cost.toLocaleString(undefined, {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    ...small,
  });
}

/** "12 KB", "3.4 MB". */
export function formatBytes(bytes: number): string {
  const units = ["bytes", "KB", "MB", "GB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 || size >= 10 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

/** JSON text made readable, in which every character can be seen; what is no JSON stays as it is. */
export function prettyJson(text: string): string {
  try {
    return escapeUnseen(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    return text;
  }
}
