/** The list of chats while something is searched, against a server that answers from a script. */
import { QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from "@tanstack/react-router";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createQueryClient } from "@/api/queries";
import { ConfirmProvider } from "@/components/ui/confirm";
import { ToastProvider } from "@/components/ui/toast";
import type { FoundView, ListedSession } from "@/protocol/api";
import { SESSION_SIDE } from "./session-side";

beforeEach(() => {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => vi.unstubAllGlobals());

const session = (id: string, found: FoundView | null = null): ListedSession => ({
  id,
  agent_id: "agt_1",
  active_agent: null,
  agent_name: "clerk",
  title: `Chat ${id}`,
  on_busy: "queue",
  state: "idle",
  pending: [],
  created_at: 1,
  updated_at: 1,
  last_run_id: null,
  leaf_run_id: null,
  branched: false,
  last_pos: 0,
  seen_pos: 0,
  forked_from: null,
  found,
});
const place = (message_id: string, match: string): FoundView => ({
  message_id,
  run_id: "run_1",
  before: "…an ",
  match,
  after: " & more",
});

type Page = { items: ListedSession[]; next: string | null };

function open(answer: (search: string) => Page | Promise<Page>) {
  vi.stubGlobal("fetch", async (request: Request) => {
    const url = new URL(request.url, "http://server");
    if (url.pathname !== "/api/agent-sessions") return Response.json({ items: [], next: null });
    return Response.json(await answer(url.searchParams.get("search") ?? ""));
  });
  const root = createRootRoute({ component: Outlet });
  const side = () => SESSION_SIDE;
  const list = createRoute({ getParentRoute: () => root, path: "/chat", component: side });
  const chat = createRoute({ getParentRoute: () => root, path: "/chat/$sessionId", component: side });
  const router = createRouter({
    routeTree: root.addChildren([list, chat]),
    history: createMemoryHistory({ initialEntries: ["/chat"] }),
  });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <Tooltip.Provider>
        <ToastProvider>
          <ConfirmProvider>
            <RouterProvider router={router as never} />
          </ConfirmProvider>
        </ToastProvider>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  return router;
}

const hit = "<img src=x onerror=alert(1)> שלום";
const three: Page = {
  items: [session("1", place("msg_1", hit)), session("2"), session("3", place("msg_3", "Otter"))],
  next: null,
};
const whole: Page = { items: [session("1"), session("2"), session("3"), session("4")], next: null };

test("a hit shows the words with the match marked, as text, and leads to the message", async () => {
  open((search) => (search ? three : whole));
  await screen.findByRole("link", { name: /Chat 4/ });
  expect(screen.getByRole("status").textContent).toBe("");
  await userEvent.type(screen.getByRole("searchbox"), "otter");
  await waitFor(() => expect(screen.getByRole("status").textContent).toBe("3 chats found"));
  const link = screen.getByRole("link", { name: /Chat 1/ });
  expect(link.getAttribute("href")).toBe("/chat/1#message-msg_1@run_1");
  expect(within(link).getByText(hit).tagName).toBe("MARK");
  expect(link.textContent).toBe(`Chat 1…an ${hit} & more`);
  expect(document.querySelector("img")).toBeNull();
  const titled = screen.getByRole("link", { name: "Chat 2" });
  expect(titled.getAttribute("href")).toBe("/chat/2");
  expect(titled.querySelector("mark")).toBeNull();
});

test("the arrows go from the field through the hits and back, and Enter opens one", async () => {
  const router = open((search) => (search ? three : whole));
  const field = await screen.findByRole("searchbox");
  await userEvent.type(field, "otter");
  await screen.findByText("3 chats found");
  const links = screen.getAllByRole("link", { name: /Chat/ });
  await userEvent.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}{ArrowDown}");
  expect(document.activeElement).toBe(links.at(-1));
  await userEvent.keyboard("{ArrowUp}{ArrowUp}{ArrowUp}");
  expect(document.activeElement).toBe(field);
  await userEvent.keyboard("{ArrowDown}{Escape}");
  expect(document.activeElement).toBe(field);
  await userEvent.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}{Enter}");
  await waitFor(() => expect(router.state.location.href).toBe("/chat/3#message-msg_3@run_1"));
});

test("Enter in the field opens the first chat that is found, however late that is", async () => {
  let tell: (page: Page) => void = () => undefined;
  const router = open((search) => (search ? new Promise((resolve) => (tell = resolve)) : whole));
  await screen.findByRole("link", { name: "Chat 4" });
  await userEvent.type(screen.getByRole("searchbox"), "otter{Enter}");
  await waitFor(() => expect(tell).toHaveLength(1));
  expect(router.state.location.href).toBe("/chat");
  tell(three);
  await waitFor(() => expect(router.state.location.href).toBe("/chat/1#message-msg_1@run_1"));
  expect(document.activeElement).toBe(document.body); // where the chat takes it from
});

test("a search that finds nothing says so, and one that finds many says that there are more", async () => {
  open((search) => {
    if (search === "walrus") return { items: [], next: null };
    return search ? { ...three, next: "x" } : whole;
  });
  const field = await screen.findByRole("searchbox");
  await userEvent.type(field, "walrus");
  await screen.findByText("No matching chats.");
  expect(screen.getByRole("status").textContent).toContain("No matching chats");
  await userEvent.keyboard("{Enter}");
  await userEvent.clear(field);
  await screen.findByRole("link", { name: "Chat 4" });
  await userEvent.type(field, "otter");
  await screen.findByText("3 or more chats found");
});
