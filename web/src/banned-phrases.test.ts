/** Phrases that the pages' texts no longer use, with what to write instead. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const BETTER: Record<string, string> = {
  "May it do this?": "Approve this action?",
  "Approve with these": "Approve with changes",
  "Why not": "Reason (optional)",
  "is told, and goes on": "The agent sees your reason and continues without this call.",
  "This is no ": "Expected a JSON value. / Enter a number.",
  "tokens not told": "token count unavailable",
  '"not told"': "unavailable",
  "Waits until the run is done": "Queued: sends when this answer finishes",
  "Nothing has to be done": "No action needed.",
  "do not fit together": "Wrong email or password.",
  "You were signed out": "You've signed out.",
  "Is it still you?": "Confirm it's you",
  "Go on": "Continue",
  "Make my account": "Create account",
  "The same password again": "Confirm password",
  "To sign in with.": "Used to sign in.",
  "Links like that": "This link works only once.",
  "which it may call": "Private address, allowed by this server.",
  "Whoever runs the server": "The server administrator",
  "One a line": "One per line.",
  "Sealed before": "Encrypted before it is stored",
  "Agents of your team use it": "Your team's agents refer to it by this name.",
  "All that I may": "Same as mine",
  "Only some of it": "Custom",
  " is made": "created",
  "all its user may": "full access",
  "You are member": "You are a member",
  "Take back": "Revoke",
  "Keep chats for": "Delete inactive chats after (days)",
  "Seconds for a turn": "Model call timeout (seconds)",
  "People chat best": "Leave empty for chat.",
  "What the model fills in goes": "Model-supplied values",
  "It is really called": "This makes a real request",
  "As it is": "Raw",
  "Every piece by itself": "Show individual chunks",
  "It has names of fields": "Records field names, not values.",
  "More about this chat": "Chat options",
  "E-mail": "Email",
};

test("no text of the pages uses a phrase that has a better one", () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter(
    (name) => /\.tsx?$/.test(name) && !/\.test\.|api\.gen/.test(name),
  );
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((name) => {
    const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
    const text = readFileSync(join(import.meta.dirname, name), "utf8")
      .replace(comments, "")
      .replace(/\s+/g, " ");
    return Object.entries(BETTER).flatMap(([phrase, better]) =>
      text.includes(phrase) ? [`${name}: ${phrase} -> ${better}`] : [],
    );
  });
  expect(found).toEqual([]);
});
