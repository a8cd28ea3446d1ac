/** Messages on their way: kept, also over a reload, and sent again under the same name until the server has them. */

import { Problem, problemOf } from "@/api/problem";
import { newKey } from "@/lib/new-key";
import type { Content } from "@/protocol/commands";
import type { Socket } from "./socket";

export interface Outgoing {
  /** The name it is sent under: the server takes it once, however often it comes. */
  key: string;
  sessionId: string;
  content: Content;
  at: number;
  /** Set when the server refused it; it waits for a person. */
  problem: { code: string; message: string } | null;
  /** Set when the server has it, until the conversation shows it. */
  messageId: string | null;
  runId: string | null;
  /** It joins the answer that is being written, if it arrives in time. */
  steer?: boolean;
}

const KEPT = "agio.outbox";
const AGAIN_MS = 2_000;
const LATER = new Set([
  "offline",
  "no_answer",
  "store_unavailable",
  "store_failed",
  "not_ready",
  "rate_limited",
]);

export class Outbox {
  private items: Outgoing[];
  private readonly socket: Socket;
  private readonly watchers = new Set<() => void>();
  private sending = false;
  private again: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    this.items = load();
    socket.watch(() => void this.send());
    if (this.items.length > 0) void this.send();
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  get = (): Outgoing[] => this.items;

  put(sessionId: string, content: Content, steer = false): Outgoing {
    const item: Outgoing = {
      key: newKey(),
      sessionId,
      content,
      at: Date.now(),
      problem: null,
      messageId: null,
      runId: null,
      steer,
    };
    this.change([...this.items, item]);
    void this.send();
    return item;
  }

  /** Sends a refused message again. */
  retry(key: string): void {
    this.update(key, { problem: null });
    void this.send();
  }

  remove(key: string): void {
    this.change(this.items.filter((item) => item.key !== key));
    void this.send();
  }

  /** Forgets messages the conversation shows. */
  shown(messageIds: ReadonlySet<string>): void {
    const left = this.items.filter((item) => item.messageId === null || !messageIds.has(item.messageId));
    if (left.length < this.items.length) this.change(left);
  }

  /** Sends what waits, one by one, so that it arrives in the order it was written. */
  private async send(): Promise<void> {
    clearTimeout(this.again);
    if (this.sending || this.socket.state !== "online") return;
    this.sending = true;
    try {
      for (let next = this.next(); next; next = this.next()) {
        try {
          const { key, sessionId, content, steer } = next;
          const ack = await this.socket.command({
            type: "message",
            session_id: sessionId,
            content,
            client_message_id: key,
            ...(steer ? { on_busy: "steer" } : {}),
          });
          this.update(key, { messageId: ack.message_id ?? null, runId: ack.run_id ?? null });
        } catch (thrown) {
          const problem = problemOf(thrown);
          if (LATER.has(problem.code)) break;
          this.update(next.key, { problem: { code: problem.code, message: problem.message } });
        }
      }
    } finally {
      this.sending = false;
    }
    if (this.next()) this.again = setTimeout(() => void this.send(), AGAIN_MS);
  }

  private next(): Outgoing | undefined {
    const stuck = new Set(this.items.filter((item) => item.problem).map((item) => item.sessionId));
    return this.items.find((item) => item.messageId === null && !item.problem && !stuck.has(item.sessionId));
  }

  private update(key: string, changes: Partial<Outgoing>): void {
    this.change(this.items.map((item) => (item.key === key ? { ...item, ...changes } : item)));
  }

  private change(items: Outgoing[]): void {
    this.items = items;
    save(items);
    for (const watcher of this.watchers) watcher();
  }
}

/** Why a message was refused, as a problem. */
export function refusalOf(item: Outgoing): Problem | null {
  return item.problem && new Problem(item.problem.code, item.problem.message);
}

function load(): Outgoing[] {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
    return Array.isArray(kept) ? (kept as Outgoing[]).filter((item) => item.messageId === null) : [];
  } catch {
    return [];
  }
}

function save(items: Outgoing[]): void {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(items));
  } catch {
    // Too large to keep over a reload; it is still sent.
  }
}
