// The conversation on the page: stored messages first, then events as they come, each in its place.

import { element, pretty, textOf } from "/assets/elements.js";

export class Thread {
  // `on` is told: run(id), step(number), ended(outcome).
  constructor(root, on) {
    this.root = root;
    this.on = on;
    this.atEnd = true;
    root.addEventListener("scroll", () => {
      this.atEnd = root.scrollHeight - root.scrollTop - root.clientHeight < 80;
    });
    this.clear();
  }

  clear() {
    this.root.replaceChildren();
    this.texts = new Map(); // message id -> { node, text, at }
    this.calls = new Map(); // call id -> { node, input, output, state, at }
    this.finished = new Set(); // ids of messages and calls that are complete: their events were seen
    this.step = 0;
    this.at = {}; // the run and seq of the event that is being applied
  }

  // A finished message, as AG-UI spells it.
  add(message) {
    switch (message.role) {
      case "user":
        this.addText(message.id, "user", textOf(message.content));
        break;
      case "assistant":
        if (message.content) this.addText(message.id, "assistant", message.content);
        for (const call of message.toolCalls ?? []) {
          const card = this.call(call.id, call.function.name);
          card.input.data = pretty(call.function.arguments);
          this.finished.add(call.id);
        }
        break;
      case "reasoning":
        this.addText(message.id, "reasoning", message.content);
        break;
      case "tool":
        this.result(message.toolCallId, textOf(message.content), message.error);
        break;
    }
    this.finished.add(message.id);
    this.follow();
  }

  apply(event) {
    this.at = event.metadata ?? {};
    switch (event.type) {
      case "RUN_STARTED":
        this.step = 0;
        this.on.run(event.runId);
        for (const message of event.input?.messages ?? []) {
          if (!this.finished.has(message.id)) this.add(message);
        }
        break;
      case "STEP_STARTED":
        this.step += 1;
        this.on.step(this.step);
        break;
      case "TEXT_MESSAGE_CHUNK":
        this.say(event.messageId, "assistant", event.delta);
        break;
      case "REASONING_MESSAGE_CHUNK":
        this.say(event.messageId, "reasoning", event.delta);
        break;
      case "TOOL_CALL_START":
        this.call(event.toolCallId, event.toolCallName);
        break;
      case "TOOL_CALL_ARGS":
        if (!this.finished.has(event.toolCallId)) this.call(event.toolCallId).input.appendData(event.delta);
        break;
      case "TOOL_CALL_END":
        if (!this.finished.has(event.toolCallId)) {
          const card = this.call(event.toolCallId);
          card.input.data = pretty(card.input.data);
          this.finished.add(event.toolCallId);
        }
        break;
      case "TOOL_CALL_RESULT":
        this.result(event.toolCallId, textOf(event.content), event.metadata?.error);
        break;
      case "RUN_FINISHED":
        this.settle();
        if (event.outcome?.type === "cancelled") this.note("Stopped.");
        this.on.ended(event.outcome?.type ?? "success");
        break;
      case "RUN_ERROR":
        this.settle();
        this.note(event.code ? `${event.message} (${event.code})` : event.message, true);
        this.on.ended("error");
        break;
      case "CUSTOM":
        this.custom(event.name, event.value ?? {});
        break;
    }
    this.follow();
  }

  custom(name, value) {
    if (name === "agio.rewind") this.rewind(value.to_seq);
    else if (name === "agio.tool_progress") this.progress(value);
    else if (name === "agio.error" || name === "agio.notice") this.note(value.message ?? value.code ?? name);
  }

  // A turn broke off and begins again: what it had said is taken back.
  rewind(seq) {
    for (const kept of [this.texts, this.calls]) {
      for (const [id, { node, at }] of kept) {
        if (at.run !== this.at.run || at.seq <= seq) continue;
        node.remove();
        kept.delete(id);
        this.finished.delete(id);
      }
    }
  }

  say(id, kind, delta = "") {
    if (this.finished.has(id)) return;
    if (!this.texts.has(id)) this.addText(id, kind, "").classList.add("live");
    this.texts.get(id).text.appendData(delta);
  }

  addText(id, kind, content) {
    const text = document.createTextNode(content);
    let node;
    if (kind === "reasoning") {
      node = element(
        "details",
        { className: "reasoning" },
        element("summary", {}, element("span", { className: "name", textContent: "Reasoning" })),
        element("div", { className: "inside" }, text),
      );
    } else {
      node = element("div", { className: `message ${kind}` }, text);
    }
    this.texts.set(id, { node, text, at: this.at });
    this.append(node);
    return node;
  }

  call(id, name = "") {
    const known = this.calls.get(id);
    if (known) return known;
    const card = {
      at: this.at,
      input: document.createTextNode(""),
      output: element("pre", { hidden: true }),
      state: element("span", { className: "quiet", textContent: "running" }),
    };
    card.node = element(
      "details",
      { className: "tool" },
      element("summary", {}, element("span", { className: "name", textContent: name }), card.state),
      element(
        "div",
        { className: "inside" },
        element("span", { className: "label", textContent: "Input" }),
        element("pre", {}, card.input),
        element("span", { className: "label", textContent: "Output" }),
        card.output,
      ),
    );
    this.calls.set(id, card);
    this.append(card.node);
    return card;
  }

  result(id, content, error) {
    const card = this.calls.get(id);
    if (!card) return;
    card.output.textContent = pretty(content);
    card.output.hidden = false;
    card.state.textContent = error ? error.replaceAll("_", " ") : "done";
    card.node.classList.toggle("failed", Boolean(error));
  }

  // A call that a person is asked about.
  wait(id) {
    const card = this.calls.get(id);
    if (card) card.state.textContent = "waits for you";
  }

  progress({ tool_call_id: id, message, fraction }) {
    const card = this.calls.get(id);
    if (!card) return;
    const share = typeof fraction === "number" ? ` ${Math.round(fraction * 100)} %` : "";
    card.state.textContent = `${message ?? ""}${share}`;
  }

  note(words, bad = false) {
    this.append(element("p", { className: bad ? "note bad" : "note", textContent: words }));
  }

  // What comes goes before the messages that wait their turn.
  append(node) {
    this.root.insertBefore(node, this.root.querySelector(".waiting"));
  }

  place(node) {
    this.root.append(node);
    this.follow(true);
  }

  settle() {
    for (const node of this.root.querySelectorAll(".live")) node.classList.remove("live");
  }

  // Stay at the end, unless the reader has scrolled up.
  follow(always = false) {
    if (always || this.atEnd) this.root.scrollTop = this.root.scrollHeight;
  }
}
