/** A chat that is loaded again looks as it did while it was streamed: the same streams, followed and loaded. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { durationOf, stateOf, verdictOf } from "@/components/turn/call-state";
import type { InterruptView, MessageView } from "@/protocol/api";
import type { Event } from "@/protocol/events";
import { foldEvents } from "@/state/fold";
import { type KnownRun, turnsOf, withAnswers, withPending, withQuestions } from "@/state/history";
import { EMPTY, openQuestions, type Part, type Turn } from "@/state/thread";
import { factsOf } from "./turn-foot";

interface Case {
  name: string;
  events: Event[];
  messages: MessageView[];
  runs: KnownRun[];
  interrupts: InterruptView[];
  pending: string[];
}

const file = join(import.meta.dirname, "../../../../../tests/wire/loaded.json");
const cases = JSON.parse(readFileSync(file, "utf8")) as Case[];

/** Streams that no run of ours is, and why they look different: what they have is not kept. */
const NOT_OURS: Record<string, string[]> = {
  "a call comes with a beginning and an end": [
    "a call in chunks",
    "text chunks, then call chunks, then text",
  ],
  "reasoning comes in chunks, which begin it": [
    "reasoning in brackets, span and message of one id",
    "reasoning without a span",
  ],
  "a call without a result was told to be pending, or was given one": [
    "an encrypted value of an ended call",
    "a continuation by nobody in particular",
  ],
  "an id is given once, and a message says something": [
    "one id for a message, a call and reasoning",
    "two runs",
    "a run after a failed one, which left things open",
  ],
  "a sub-agent is given a task, and answers a call": [
    "a step of the same name in agent and subagent",
    "a subagent at work",
    "a subagent of a subagent",
    "a subagent of an ended subagent",
    "subagents streaming chunks side by side",
  ],
  "the log is whole: no snapshots, no history in what a run is given": [
    "a result of a call of the input",
    "a result of a call of a snapshot",
    "a snapshot after chunks",
    "a snapshot, then its message goes on",
    "a snapshot gives a message to a subagent",
  ],
  "what a person said begins the run after their answer": ["an interrupt and its answer"],
};
const foreign = new Set(Object.values(NOT_OURS).flat());
const differs = (given: Case) => {
  const [before, after] = [followed(given), loaded(given)].map((turns) => JSON.stringify(turns.map(seen)));
  return before !== after;
};

const followed = ({ events }: Case): Turn[] => foldEvents(EMPTY, 1, events).turns;

function loaded({ messages, runs, interrupts, pending }: Case): Turn[] {
  return turnsOf(messages, new Map(runs.map((run) => [run.id, run]))).map((turn) =>
    withAnswers(withQuestions(withPending(turn, pending), interrupts), interrupts),
  );
}

/** What a person sees of a turn. Not among it: when a text was said, and how far a call was that is over. */
function seen(turn: Turn): unknown {
  return {
    runId: turn.runId,
    asked: turn.asked,
    status: turn.status,
    error: turn.error,
    facts: factsOf(turn),
    parts: turn.parts.map((part) => seenPart(part, turn)),
  };
}

const asks = (turns: Turn[]) =>
  openQuestions({ ...EMPTY, turns }).map(({ id, callId, message }) => [id, callId, message]);

function seenPart(part: Part, turn: Turn): unknown {
  switch (part.kind) {
    case "call": {
      const { kind, id, name, args, result, error } = part;
      const state = [stateOf(part, turn, false), verdictOf(part, turn), durationOf(part)];
      return { kind, id, name, args, result, error, state };
    }
    case "reasoning":
      return [part.kind, part.id, part.text, part.startedAt, part.endedAt];
    case "notice":
      return [part.id, part.level, part.code, part.message, part.detail ?? null, part.retryAt];
    case "subagent":
      return [
        ...[part.kind, part.id, part.name, part.task, part.status, part.message],
        part.parts.map((inner) => seenPart(inner, turn)),
      ];
    case "input":
      return [part.kind, part.id, part.content];
    case "handoff":
      return [part.kind, part.id, part.from, part.to, part.filter, part.call, part.reason];
    default:
      return [part.kind, part.id, part.text];
  }
}

const ours = cases.filter(({ name }) => !foreign.has(name));

test.each(ours)("a chat looks the same when it is loaded again: $name", (given) => {
  expect(loaded(given).map(seen)).toEqual(followed(given).map(seen));
  expect(asks(loaded(given))).toEqual(asks(followed(given)));
});

test("what is let off is there, and does look different", () => {
  expect(cases.filter(({ name }) => foreign.has(name)).filter(differs)).toHaveLength(foreign.size);
});

test.each(ours)("a page that has read it and is told it again shows nothing twice: $name", (given) => {
  const again = foldEvents({ ...EMPTY, turns: loaded(given) }, 1, given.events).turns;
  const shown = (turns: Turn[]) => turns.map((turn) => turn.parts.map((part) => seenPart(part, turn)));
  expect(shown(again)).toEqual(shown(followed(given)));
});
