import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import type { Outgoing } from "@/realtime/outbox";
import { SocketProvider } from "@/realtime/socket-context";
import { OutgoingMessage } from "./turn-view";

const item: Outgoing = {
  key: "k1",
  sessionId: "ses_1",
  content: "Hello",
  at: 1,
  problem: null,
  messageId: null,
  runId: null,
};
const stays = async () => false;

function show(known: Partial<Outgoing>, acts = { onRetry: vi.fn(), onDiscard: vi.fn() }) {
  vi.stubGlobal("WebSocket", vi.fn(FakeSocket));
  render(
    <SocketProvider mayReturn={stays}>
      <OutgoingMessage item={{ ...item, ...known }} {...acts} />
    </SocketProvider>,
  );
  return acts;
}

/** A connection that never opens. */
class FakeSocket extends EventTarget {
  readyState = 0;
  close(): void {
    this.readyState = 3;
  }
}

test("a message without a connection waits for it", () => {
  show({});
  expect(screen.getByRole("status").textContent).toContain("Waiting for connection");
});

test("a message that the server has says when the agent sees it", () => {
  show({ messageId: "m1" });
  show({ messageId: "m2", steer: true });
  expect(screen.getAllByRole("status").map((status) => status.textContent?.trim())).toEqual([
    "Queued: sends when this answer finishes",
    "Joins the answer at its next step",
  ]);
});

test("a refused message says why, and is sent again or given up", async () => {
  const acts = show({ problem: { code: "too_large", message: "It is too large." } });
  expect(screen.getByRole("alert").textContent).toContain("It is too large.");
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  await userEvent.click(screen.getByRole("button", { name: "Discard" }));
  expect(acts.onRetry).toHaveBeenCalledOnce();
  expect(acts.onDiscard).toHaveBeenCalledOnce();
});
