// A stock AG-UI client, driven as an application would drive it. Arguments: URL, API key, scene.
// Prints one JSON object: what the client has and was told.

import { HttpAgent } from "@ag-ui/client";

const [url, key, scene] = process.argv.slice(2);
const warnings = [];
console.warn = (...parts) => warnings.push(parts.map(String).join(" "));

const agent = new HttpAgent({ url, headers: { authorization: `Bearer ${key}` } });
const told = { events: [], outcomes: [], errors: [] };
const listener = {
  onEvent: ({ event }) => void told.events.push(event.type),
  onRunFinishedEvent: ({ event }) => void told.outcomes.push(event.outcome?.type ?? "success"),
  onRunErrorEvent: ({ event }) => void told.errors.push(event.code),
};
let said = 0;
const say = (content) => agent.addMessage({ id: `said-${++said}`, role: "user", content });

const colour = {
  name: "pick_colour",
  description: "Asks the page for a colour.",
  parameters: { type: "object", properties: { of: { type: "string" } } },
};

const scenes = {
  async chat() {
    say("What is 2 + 3?");
    await agent.runAgent({}, listener);
    say("And again?");
    await agent.runAgent({}, listener);
  },
  async "client tool"() {
    say("Colour of the sky?");
    await agent.runAgent({ tools: [colour] }, listener);
    const call = agent.messages.at(-1).toolCalls[0];
    agent.addMessage({ id: "result-1", role: "tool", toolCallId: call.id, content: "blue" });
    await agent.runAgent({ tools: [colour] }, listener);
  },
  async approval() {
    say("Pay Ann.");
    await agent.runAgent({}, listener);
    told.questions = agent.pendingInterrupts.map(({ message }) => message);
    const resume = agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: "resolved",
      payload: { approved: true, editedArgs: { amount: 7, to: "Bob" } },
    }));
    await agent.runAgent({ resume }, listener);
  },
  async cancel() {
    say("Speak at length.");
    const running = agent.runAgent(
      { forwardedProps: { agio: { cancel_on_disconnect: true } } },
      { ...listener, onTextMessageContentEvent: () => void agent.abortRun() },
    );
    await running.catch((error) => told.errors.push(error.name));
  },
  async branch() {
    const api = new URL("/api/", url);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    say("Pick a number.");
    await agent.runAgent({}, listener);
    const [run] = (await (await fetch(new URL("runs?limit=1", api), { headers })).json()).items;
    const again = await fetch(new URL(`runs/${run.id}/regenerate`, api), { method: "POST", headers });
    const { run_id } = await again.json();
    for (;;) {
      const { status } = await (await fetch(new URL(`runs/${run_id}`, api), { headers })).json();
      if (status === "completed") break;
    }
    say("Which one was it?");
    await agent.runAgent({}, listener);
  },
  async rejoin() {
    say("Speak slowly.");
    const first = agent.runAgent({ runId: "my-run" }, { onTextMessageContentEvent: () => void agent.abortRun() });
    await first.catch(() => {});
    told.left_with = agent.messages.at(-1)?.content ?? "";
    await agent.runAgent({ runId: "my-run" }, listener);
  },
};

try {
  await scenes[scene]();
} catch (error) {
  told.errors.push(String(error));
}
console.log(JSON.stringify({ ...told, warnings, messages: agent.messages, threadId: agent.threadId }));
