/** The one WebSocket of a page: reconnects when it breaks, and resumes every session at its position. */
import { Problem } from "@/api/problem";
import type { Ack, Command, Heard } from "@/protocol/commands";
import type { Event } from "@/protocol/events";
import { backoffMs } from "./backoff";
import type { Feed, FeedListener } from "./feed";

const PING_MS = 20_000;
const ANSWER_MS = 15_000;
/** How long an answer may take once the browser says that there is no network. */
const DOUBTFUL_MS = 3_000;
const AGAIN_MS = 1_000;
const REFUSED = 1008;

export type SocketState = "connecting" | "online" | "offline" | "refused";

interface Followed {
  after: number;
  /** How many subscriptions were asked for and not answered: until then, what comes is of an earlier one. */
  asked: number;
  listeners: Set<FeedListener>;
}

interface Waiting {
  resolve: (ack: Ack) => void;
  reject: (problem: Problem) => void;
  timer: ReturnType<typeof setTimeout>;
}

interface SocketOptions {
  url?: string;
  /** Asked when the server turns us away: whether to try again. */
  mayReturn?: () => Promise<boolean>;
  create?: (url: string) => WebSocket;
}

export class Socket implements Feed {
  state: SocketState = "connecting";
  private socket: WebSocket | null = null;
  private readonly followed = new Map<string, Followed>();
  private readonly waiting = new Map<string, Waiting>();
  private readonly watchers = new Set<() => void>();
  private readonly options: SocketOptions;
  private count = 0;
  private tries = 0;
  private again: ReturnType<typeof setTimeout> | undefined;
  private pings: ReturnType<typeof setInterval> | undefined;

  constructor(options: SocketOptions = {}) {
    this.options = options;
  }

  /** Connects, and stays connected until `close`. */
  open = (): void => {
    clearTimeout(this.again);
    this.drop();
    const create = this.options.create ?? ((url: string) => new WebSocket(url));
    const socket = create(this.options.url ?? ownUrl());
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.tries = 0;
      this.become("online");
      this.subscribeAll();
    };
    socket.onmessage = (message) => this.hear(JSON.parse(String(message.data)) as Heard);
    socket.onclose = (closed) => void this.lost(socket, closed.code === REFUSED || !opened);
    clearInterval(this.pings);
    this.pings = setInterval(() => this.ping(), PING_MS);
    globalThis.addEventListener?.("online", this.comeBack);
    globalThis.addEventListener?.("offline", this.doubt);
  };

  close(): void {
    clearTimeout(this.again);
    clearInterval(this.pings);
    globalThis.removeEventListener?.("online", this.comeBack);
    globalThis.removeEventListener?.("offline", this.doubt);
    this.drop();
    this.become("offline");
  }

  /** Calls a watcher when the state changes; returns how to stop. */
  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  /** Sends a command; the promise is kept when the server has carried it out. */
  command(command: Command, answerMs: number = ANSWER_MS): Promise<Ack> {
    const socket = this.socket;
    if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(lost());
    const id = `c${++this.count}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (this.waiting.delete(id)) reject(new Problem("no_answer", "The server does not answer."));
      }, answerMs);
      this.waiting.set(id, { resolve, reject, timer });
      socket.send(JSON.stringify({ ...command, id }));
    });
  }

  /** Sends what a person asked for; while there is no connection it waits a while for the next one, unless `left`. */
  async ask(command: Command, left?: AbortSignal): Promise<Ack> {
    if (this.state === "connecting" || this.state === "offline") {
      await new Promise<void>((settled) => {
        const done = () => {
          clearTimeout(timer);
          stop();
          settled();
        };
        const timer = setTimeout(done, ANSWER_MS);
        const stop = this.watch(() => {
          if (this.state !== "offline") done();
        });
        left?.addEventListener("abort", done);
      });
    }
    if (left?.aborted) throw lost();
    return this.command(command);
  }

  follow(sessionId: string, after: number, listener: FeedListener): () => void {
    const known = this.followed.get(sessionId);
    const followed = known ?? { after, asked: 0, listeners: new Set<FeedListener>() };
    followed.listeners.add(listener);
    if (!known) this.followed.set(sessionId, followed);
    if (!known || after < followed.after) {
      followed.after = Math.min(after, followed.after);
      if (this.state === "online") this.subscribe(sessionId);
    }
    listener.online(this.state === "online");
    return () => {
      followed.listeners.delete(listener);
      if (followed.listeners.size > 0 || this.followed.get(sessionId) !== followed) return;
      this.followed.delete(sessionId);
      this.command({ type: "unsubscribe", session_id: sessionId }).catch(() => undefined);
    };
  }

  private subscribeAll(): void {
    for (const sessionId of this.followed.keys()) this.subscribe(sessionId);
  }

  private subscribe(sessionId: string): void {
    const followed = this.followed.get(sessionId);
    if (!followed) return;
    followed.asked += 1;
    this.command({ type: "subscribe", session_id: sessionId, after: followed.after })
      .catch((problem: Problem) => {
        if (this.followed.get(sessionId) !== followed) return;
        if (problem.code === "session_not_found") this.end(sessionId);
        else if (problem.code !== "offline" && problem.code !== "no_answer") {
          for (const listener of followed.listeners) listener.failed(problem);
        }
      })
      .finally(() => {
        followed.asked -= 1;
      });
  }

  private hear(heard: Heard): void {
    switch (heard.type) {
      case "events":
        this.spread(heard.session_id, heard.pos, heard.events);
        break;
      case "deleted":
        this.end(heard.session_id);
        break;
      case "error":
        if (heard.id !== undefined)
          this.settle(heard.id)?.reject(new Problem(heard.error.code, heard.error.message));
        else setTimeout(() => this.subscribeAll(), AGAIN_MS);
        break;
      case "ack":
        this.settle(heard.id)?.resolve(heard);
        break;
      case "pong":
        this.settle(heard.id)?.resolve({ type: "ack", id: heard.id });
        break;
    }
  }

  /** Hands on what is new: after a reconnection the server may say again what we have. */
  private spread(sessionId: string, pos: number, events: Event[]): void {
    const followed = this.followed.get(sessionId);
    if (!followed) return;
    if (pos > followed.after + 1) {
      if (followed.asked === 0) this.subscribe(sessionId); // something is missing before it
      return;
    }
    const seen = Math.max(0, followed.after + 1 - pos);
    const fresh = seen > 0 ? events.slice(seen) : events;
    if (fresh.length === 0) return;
    followed.after = pos + events.length - 1;
    for (const listener of followed.listeners) listener.events(pos + seen, fresh);
  }

  private end(sessionId: string): void {
    const followed = this.followed.get(sessionId);
    this.followed.delete(sessionId);
    for (const listener of followed?.listeners ?? []) listener.deleted();
  }

  private async lost(socket: WebSocket, refused: boolean): Promise<void> {
    if (socket !== this.socket) return;
    this.fail();
    this.become("offline");
    if (refused && this.options.mayReturn && !(await this.options.mayReturn())) {
      if (socket === this.socket) this.become("refused");
      return;
    }
    if (socket !== this.socket) return;
    this.again = setTimeout(this.open, backoffMs(this.tries++));
  }

  private ping(answerMs: number = ANSWER_MS): void {
    if (this.state !== "online") return;
    const socket = this.socket;
    this.command({ type: "ping" }, answerMs).catch(() => socket === this.socket && this.open());
  }

  private doubt = (): void => this.ping(DOUBTFUL_MS);

  private comeBack = (): void => {
    this.tries = 0;
    if (this.state === "offline") this.open();
    else this.ping();
  };

  private settle(id: string): Waiting | undefined {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    clearTimeout(waiting?.timer);
    return waiting;
  }

  private fail(): void {
    for (const id of [...this.waiting.keys()]) this.settle(id)?.reject(lost());
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    this.fail();
    socket?.close();
    if (this.state === "online") this.become("offline");
  }

  private become(state: SocketState): void {
    if (state === this.state) return;
    this.state = state;
    for (const { listeners } of this.followed.values()) {
      for (const listener of listeners) listener.online(state === "online");
    }
    for (const watcher of this.watchers) watcher();
  }
}

function lost(): Problem {
  return new Problem("offline", "There is no connection to the server.");
}

function ownUrl(): string {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/realtime`;
}
