// The WebSocket: one for the page, opened again whenever it breaks, and then subscribed where it had got to.

const PING_MS = 20000;
const ANSWER_MS = 15000;
const REFUSED = 1008;

export class Socket {
  // `on` is told: events(sessionId, events), deleted(sessionId), online(true or false), failed(error), and asked
  // whether to go on when the server turned us away: refused() is a promise of that.
  constructor(on) {
    this.on = on;
    this.waiting = new Map(); // command id -> { resolve, reject }
    this.number = 0;
    this.tries = 0;
    this.watched = null; // { sessionId, after }
    this.open();
    setInterval(() => this.ready && this.command("ping").catch(() => this.socket.close()), PING_MS);
    addEventListener("online", () => this.ready || this.open());
  }

  get ready() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  open() {
    clearTimeout(this.timer);
    this.socket?.close();
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/realtime`);
    this.socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.tries = 0;
      this.on.online(true);
      if (this.watched) this.subscribe();
    };
    socket.onmessage = (message) => this.take(JSON.parse(message.data));
    socket.onclose = async ({ code }) => {
      if (socket !== this.socket) return;
      for (const { reject } of this.waiting.values()) reject(new Error("The connection was lost."));
      this.waiting.clear();
      this.on.online(false);
      if ((code === REFUSED || !opened) && !(await this.on.refused())) return;
      if (socket !== this.socket) return;
      this.timer = setTimeout(() => this.open(), Math.min(10000, 250 * 2 ** this.tries++) * (0.5 + Math.random()));
    };
  }

  // Stay away, until it is opened again.
  close() {
    const socket = this.socket;
    this.socket = null;
    clearTimeout(this.timer);
    socket?.close();
  }

  take(message) {
    if (message.type === "events") {
      const watched = this.watched;
      if (watched?.sessionId !== message.session_id) return;
      const seen = watched.after - message.pos + 1;
      const events = seen > 0 ? message.events.slice(seen) : message.events;
      if (!events.length) return;
      watched.after = message.pos + message.events.length - 1;
      this.on.events(message.session_id, events);
    } else if (message.type === "deleted") {
      this.on.deleted(message.session_id);
    } else if (message.type === "error" && !message.id) {
      // A subscription that could not go on: the server reads on from where we are.
      setTimeout(() => this.watched && this.ready && this.subscribe(), 1000);
    } else {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.type === "error") waiting?.reject(Object.assign(new Error(message.error.message), message.error));
      else waiting?.resolve(message);
    }
  }

  // Get a session's events after a position, also after the connection was lost and found again.
  watch(sessionId, after) {
    const before = this.watched;
    this.watched = { sessionId, after };
    if (!this.ready) return;
    if (before && before.sessionId !== sessionId) {
      this.command("unsubscribe", { session_id: before.sessionId }).catch(() => {});
    }
    this.subscribe();
  }

  unwatch() {
    if (this.watched && this.ready) {
      this.command("unsubscribe", { session_id: this.watched.sessionId }).catch(() => {});
    }
    this.watched = null;
  }

  subscribe() {
    const { sessionId, after } = this.watched;
    this.command("subscribe", { session_id: sessionId, after }).catch((error) => {
      if (error.code === "session_not_found") this.on.deleted(sessionId);
      else if (error.code) this.on.failed(error);
    });
  }

  // Send a command; the promise is kept when the server has carried it out.
  command(type, fields = {}) {
    const id = `c${++this.number}`;
    if (!this.ready) return Promise.reject(new Error("There is no connection to the server."));
    this.socket.send(JSON.stringify({ type, id, ...fields }));
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      setTimeout(() => {
        if (this.waiting.delete(id)) reject(new Error("The server does not answer."));
      }, ANSWER_MS);
    });
  }
}
