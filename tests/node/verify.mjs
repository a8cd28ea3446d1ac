// Judges streams of events with the official client: one JSON line in, one JSON line out.
// {"id", "events"} -> {"id", "ok": true, "warnings"} or {"id", "ok": false, "error", "warnings"}
// With "messages": true the first has "messages" too: the conversation the client has in the end.

import { AbstractAgent, defaultApplyEvents, enforceEvents, transformChunks, verifyEvents } from "@ag-ui/client";
import { EMPTY, from, lastValueFrom, tap } from "rxjs";

class Listener extends AbstractAgent {
  run() {
    return EMPTY;
  }
}

let warnings = [];
console.warn = (...parts) => warnings.push(parts.map(String).join(" "));
console.error = console.warn;

const emptyInput = () => ({ threadId: "", runId: "", messages: [], state: {}, tools: [], context: [], forwardedProps: {} });

async function judge(events) {
  const verified = from(events).pipe(enforceEvents(), transformChunks(), verifyEvents());
  let messages = [];
  const applied = defaultApplyEvents(emptyInput(), verified, new Listener(), []);
  await lastValueFrom(applied.pipe(tap((change) => (messages = change.messages ?? messages))), { defaultValue: undefined });
  return messages;
}

const reason = (error) => (error instanceof Error ? error.message : String(error));

async function answer(line) {
  warnings = [];
  let id = null;
  try {
    const request = JSON.parse(line);
    id = request.id;
    const messages = await judge(request.events);
    return { id, ok: true, warnings, ...(request.messages && { messages }) };
  } catch (error) {
    return { id, ok: false, error: reason(error), warnings };
  }
}

// By hand, because node:readline also ends a line at U+2028, which JSON leaves unescaped.
async function* lines() {
  let rest = "";
  for await (const text of process.stdin.setEncoding("utf8")) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    yield* parts;
  }
}

for await (const line of lines()) {
  process.stdout.write(`${JSON.stringify(await answer(line))}\n`);
}
