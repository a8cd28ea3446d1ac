// The page: who is here, which agents and conversations there are, and the one that is open.

import { api } from "/assets/api.js";
import { approvalCard } from "/assets/approval.js";
import { withProof } from "/assets/confirm.js";
import { byId, complain, element, textOf } from "/assets/elements.js";
import { Socket } from "/assets/socket.js";
import { Thread } from "/assets/thread.js";

const TRY = "Try: What is 12 * 7? · What time is it in Europe/Vienna? · Send a postcard to Ann";
const NO_AGENT = "This team has no agent yet. Make one: POST /api/agents (docs/server.md)";
const STATES = { running: "answering", queued: "waiting its turn", waiting: "waiting for you", idle: "" };

let me = null;
let socket = null;
let agents = [];
let current = null; // the session that is open
let opening = 0;
const begun = new Set(); // runs that were seen to begin
const waiting = new Map(); // run id -> the message of a run that waits its turn

const thread = new Thread(byId("thread"), {
  run: (id) => {
    thread.root.querySelector(".welcome")?.remove();
    waiting.get(id)?.remove();
    waiting.delete(id);
    if (!begun.has(id)) refreshSessions();
    begun.add(id);
    showState("running");
  },
  step: (step) => {
    byId("step").textContent = `step ${step}`;
  },
  ended: (outcome) => {
    showState(outcome === "interrupt" ? "waiting" : "idle");
    if (outcome === "interrupt") askOpenQuestions();
    refreshSessions();
  },
});

function showState(state) {
  byId("state").textContent = STATES[state] ?? state;
  byId("state").className = `state ${state}`;
  byId("cancel").hidden = state !== "running" && state !== "queued";
}

async function start() {
  me = await api.me();
  byId("me").textContent = me.name;
  restoreUnsent();
  socket = new Socket({ online, events, deleted, failed: complain, refused });
  await refreshAgents();
  addEventListener("hashchange", openFromAddress);
  await openFromAddress();
}

function online(yes) {
  byId("offline").hidden = yes;
}

// Whether the socket should try again: not for whoever is signed out, or is somebody else by now.
async function refused() {
  try {
    const now = await api.me();
    if (now.tenant === me.tenant && now.user === me.user) return true;
    location.reload();
    return false;
  } catch (error) {
    return error.code !== "unauthenticated";
  }
}

// What was typed outlives the page in its tab, for whoever typed it.
function keepUnsent() {
  if (me === null) return;
  const { tenant, user } = me;
  const text = byId("text").value;
  if (text) sessionStorage.setItem("unsent", JSON.stringify({ tenant, user, text }));
  else sessionStorage.removeItem("unsent");
}

function restoreUnsent() {
  const kept = JSON.parse(sessionStorage.getItem("unsent"));
  sessionStorage.removeItem("unsent");
  if (kept === null || kept.tenant !== me.tenant || kept.user !== me.user) return;
  byId("text").value = kept.text;
  fit();
}

function events(sessionId, list) {
  if (current?.id !== sessionId) return;
  for (const event of list) {
    if (current?.id === sessionId) thread.apply(event);
  }
}

function deleted(sessionId) {
  if (current?.id === sessionId) leaveSession("This conversation was deleted.");
  refreshSessions();
}

async function refreshAgents() {
  agents = (await api.agents()).filter((agent) => agent.status === "active" && agent.source !== "library");
  const chosen = localStorage.getItem("agent");
  byId("agents").replaceChildren(
    ...agents.map((agent) =>
      element("option", { value: agent.id, textContent: agent.name, selected: agent.id === chosen }),
    ),
  );
  for (const id of ["agent", "new-session", "composer"]) byId(id).hidden = agents.length === 0;
  await refreshSessions();
}

async function refreshSessions() {
  const agentId = byId("agents").value;
  const list = byId("sessions");
  if (!agentId) return list.replaceChildren();
  let page;
  try {
    page = await api.sessions(agentId);
  } catch (error) {
    return complain(error);
  }
  return list.replaceChildren(
    ...page.items.map((session) => {
      const button = element(
        "button",
        { type: "button", onclick: () => (location.hash = session.id), title: session.title },
        element("span", { className: `dot ${session.state}`, title: STATES[session.state] || "idle" }),
        element("span", { className: "name", textContent: session.title || "New conversation" }),
      );
      button.setAttribute("aria-current", String(session.id === current?.id));
      if (session.id === current?.id) byId("title").textContent = session.title || "New conversation";
      return element("li", {}, button);
    }),
  );
}

async function openFromAddress() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id) return leaveSession();
  if (id !== current?.id) await openSession(id);
}

// What stands in an empty thread: whom one would talk to, and how to begin.
function welcome() {
  const agent = agents.find(({ id }) => id === byId("agents").value);
  if (!agent) {
    byId("title").textContent = "No agent yet";
    thread.root.append(element("div", { className: "welcome", textContent: NO_AGENT }));
    return;
  }
  thread.root.append(
    element(
      "div",
      { className: "welcome" },
      element("h3", { textContent: agent.name }),
      element("p", { textContent: agent.description || "Write a message to begin." }),
      agent.model_provider === "demo" ? element("p", { className: "quiet", textContent: TRY }) : null,
    ),
  );
}

function leaveSession(words = "New conversation") {
  opening += 1;
  current = null;
  socket.unwatch();
  thread.clear();
  showState("idle");
  byId("title").textContent = words;
  byId("step").textContent = "";
  byId("text").disabled = byId("send").disabled = agents.length === 0;
  welcome();
  byId("delete").hidden = true;
  if (location.hash) history.replaceState(null, "", location.pathname);
}

async function openSession(id) {
  const mine = ++opening;
  let session;
  let status;
  let runs;
  try {
    session = await api.session(id);
    status = await api.status(id);
    runs = new Map((await api.runs(id)).map((run) => [run.run_id, run]));
  } catch (error) {
    if (mine !== opening) return;
    leaveSession(error.status === 404 ? "There is no such conversation." : error.message);
    return;
  }
  if (mine !== opening) return;
  current = session;
  if (byId("agents").value !== session.agent_id) {
    byId("agents").value = session.agent_id;
  }
  thread.clear();
  waiting.clear();
  showMessages(session.messages, runs);
  byId("title").textContent = session.title || "New conversation";
  byId("step").textContent = status.step ? `step ${status.step}` : "";
  byId("text").disabled = byId("send").disabled = false;
  byId("delete").hidden = false;
  byId("side").classList.remove("open");
  thread.step = session.state === "running" ? status.step : 0;
  showState(session.state);
  thread.follow(true);
  socket.watch(id, session.stream_after);
  if (status.interrupts.length) ask(status.interrupts);
  byId("text").focus();
  refreshSessions();
}

// The messages of a session; after those of a run that failed or was stopped, that it was. What waits comes last.
function showMessages(messages, runs) {
  if (messages.length === 0) welcome();
  const queued = messages.filter(({ run_id: id }) => runs.get(id)?.status === "queued");
  let last = null;
  const close = () => {
    const run = runs.get(last);
    if (run?.status === "cancelled") thread.note("Stopped.");
    else if (run?.error_code) thread.note(`This run failed (${run.error_code}).`, true);
  };
  for (const { run_id: id, message } of messages) {
    if (runs.get(id)?.status === "queued") continue;
    if (last !== null && id !== last) close();
    last = id;
    thread.add(message);
  }
  close();
  for (const { run_id: id, message } of queued) wait(id, textOf(message.content));
}

// Show a message whose run has not begun: it moves to its place when it does.
function wait(runId, text) {
  const node = element("div", { className: "message user waiting", textContent: text, title: "Waits its turn" });
  waiting.get(runId)?.remove();
  waiting.set(runId, node);
  thread.place(node);
}

async function askOpenQuestions() {
  const id = current.id;
  try {
    const { interrupts } = await api.status(id);
    if (current?.id === id && interrupts.length) ask(interrupts);
  } catch (error) {
    complain(error);
  }
}

// The server takes the answers to all open questions at once: they go out with the last decision.
function ask(questions) {
  for (const card of thread.root.querySelectorAll(".approval")) card.remove();
  const id = current.id;
  const answers = [];
  for (const question of [...questions].reverse()) {
    thread.wait(question.tool_call_id);
    const card = approvalCard(question, async (answer) => {
      answers.push(answer);
      if (answers.length < questions.length) return;
      try {
        await socket.command("approve", { session_id: id, answers });
      } catch (error) {
        complain(error);
        if (current?.id === id) openSession(id);
      }
    });
    thread.place(card);
  }
}

async function send() {
  const text = byId("text");
  const content = text.value.trim();
  if (!content || !(current || (await begin()))) return;
  const id = current.id;
  text.value = "";
  fit();
  for (const card of thread.root.querySelectorAll(".approval")) card.remove();
  try {
    const sent = await socket.command("message", { session_id: id, content, client_message_id: randomName() });
    if (current?.id !== id || begun.has(sent.run_id)) return;
    if (byId("cancel").hidden) showState("queued");
    wait(sent.run_id, content);
  } catch (error) {
    complain(error);
    if (!text.value) text.value = content;
  }
}

// A first message makes its conversation; whether there is one now.
async function begin() {
  try {
    const { id } = await api.startSession(byId("agents").value);
    history.replaceState(null, "", `#${id}`);
    await openSession(id);
  } catch (error) {
    complain(error);
  }
  return current !== null;
}

async function cancel() {
  if (!current || byId("cancel").hidden) return;
  try {
    await socket.command("cancel", { session_id: current.id });
  } catch (error) {
    complain(error);
  }
}

function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fit() {
  const text = byId("text");
  text.rows = Math.min(8, text.value.split("\n").length);
}

byId("composer").onsubmit = (event) => {
  event.preventDefault();
  send();
};
byId("text").oninput = fit;
byId("text").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
};
addEventListener("keydown", (event) => {
  if (event.key === "Escape") cancel();
});
addEventListener("pagehide", keepUnsent);
byId("cancel").onclick = cancel;
byId("agents").onchange = () => {
  localStorage.setItem("agent", byId("agents").value);
  leaveSession();
  refreshSessions();
};
byId("new-session").onclick = () => {
  leaveSession();
  refreshSessions();
  byId("side").classList.remove("open");
  byId("text").focus();
};
byId("delete").onclick = async () => {
  if (!current || !confirm("Delete this conversation and everything in it?")) return;
  try {
    await api.deleteSession(current.id);
    leaveSession();
    refreshSessions();
  } catch (error) {
    complain(error);
  }
};
byId("new-key").onclick = async () => {
  const name = prompt("A name for the key, such as the program that will use it:")?.trim();
  if (!name) return;
  try {
    const made = await withProof(() => api.createKey(name));
    if (made !== null) prompt("This is the key. It is shown only now: copy it.", made.key);
  } catch (error) {
    complain(error);
  }
};
byId("sign-out").onclick = async () => {
  socket?.close(); // the server would close it, and the page would be told that it was signed out
  try {
    await api.signOut();
    byId("text").value = "";
    location.assign("/sign-in");
  } catch (error) {
    complain(error);
    socket?.open();
  }
};
byId("side-open").onclick = () => byId("side").classList.add("open");
byId("side-close").onclick = () => byId("side").classList.remove("open");

start().catch(complain);
