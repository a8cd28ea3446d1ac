import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { act, render, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { messageHash } from "@/lib/message-hash";
import { followMessage, useWantedMessage, type Wanted } from "./deep-link";

function open(address: string) {
  const seen: (Wanted | null)[] = [];
  const root = createRootRoute({
    component: () => {
      const wanted = useWantedMessage("ses_1");
      if (wanted !== seen.at(-1)) seen.push(wanted);
      return null;
    },
  });
  const chat = createRoute({ getParentRoute: () => root, path: "/chat/$sessionId", component: () => null });
  const router = createRouter({
    routeTree: root.addChildren([chat]),
    history: createMemoryHistory({ initialEntries: [address] }),
  });
  render(<RouterProvider router={router as never} />);
  return { seen, router };
}

test("a message is wanted of the chat whose address it is in, and of no other", async () => {
  const { seen, router } = open("/chat/ses_1#message-m1");
  await waitFor(() => expect(seen.at(-1)).toEqual({ id: "m1", run: null }));
  router.history.push("/chat/ses_2#message-m2");
  await waitFor(() => expect(router.state.location.hash).toBe("message-m2"));
  await waitFor(() => expect(seen.at(-1)).toBeNull());
  expect(seen).not.toContainEqual({ id: "m2", run: null });
});

test("a link may say which run the message is of", async () => {
  const { seen } = open(`/chat/ses_1#${messageHash("m1", "run_1")}`);
  await waitFor(() => expect(seen.at(-1)).toEqual({ id: "m1", run: "run_1" }));
});

test("a link that is followed again is wanted again, one to elsewhere is not", async () => {
  const { seen } = open("/chat/ses_1#message-m1");
  await waitFor(() => expect(seen.at(-1)).toEqual({ id: "m1", run: null }));
  const before = seen.at(-1);
  act(() => followMessage("m9"));
  expect(seen.at(-1)).toBe(before);
  act(() => followMessage("m1"));
  expect(seen.at(-1)).toEqual({ id: "m1", run: null });
  expect(seen.at(-1)).not.toBe(before);
});
