/** The list of runs against a server that answers from a script. */
import { QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
} from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { afterEach, expect, test, vi } from "vitest";
import { createQueryClient } from "@/api/queries";
import type { RunView } from "@/protocol/api";
import { RunsPage } from "./runs-page";

afterEach(() => vi.unstubAllGlobals());

const run = (id: string, known: Partial<RunView> = {}): RunView => ({
  id,
  session_id: "ses_1",
  agent_id: "agt_1",
  active_agent: null,
  agent_name: "clerk",
  model: "demo:demo",
  title: `Task ${id}`,
  status: "completed",
  error_code: null,
  error_message: null,
  goal_met: null,
  cancel_requested: false,
  epoch: 1,
  last_seq: 9,
  first_pos: 0,
  parent_run_id: null,
  branched: false,
  definition: null,
  created_at: 1_700_000_000_000,
  started_at: 1_700_000_000_000,
  ended_at: 1_700_000_004_200,
  request_id: "req_1",
  user: "ada",
  user_name: "Ada",
  question: null,
  copied_from: null,
  steps: 2,
  input_tokens: 100,
  output_tokens: 20,
  cost: 0.5,
  usage_partial: false,
  ...known,
});

type Answer = { items: RunView[]; next: string | null } | { refused: string };

/** Opens the page at an address; what was asked of the list of runs is in what it returns. */
function open(address: string, permissions: string[], answer: (query: URLSearchParams) => Answer) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const url = new URL(request.url, "http://server");
    if (url.pathname === "/api/me")
      return Response.json({ user: "ada", name: "Ada", permissions, currency: "USD" });
    if (url.pathname === "/api/members") return Response.json({ items: [{ user: "bob", name: "Bob" }] });
    if (url.pathname === "/api/agents")
      return Response.json({ items: [{ id: "agt_1", name: "clerk" }], next: null });
    asked.push(url.search);
    const told = answer(url.searchParams);
    if (!("refused" in told)) return Response.json(told);
    return Response.json({ error: { code: told.refused, message: "No." } }, { status: 400 });
  });
  const root = createRootRoute({ component: Outlet });
  const inside = createRoute({ getParentRoute: () => root, id: "inside", component: Outlet });
  const runs = createRoute({ getParentRoute: () => inside, path: "/runs", component: RunsPage });
  const one = createRoute({ getParentRoute: () => inside, path: "/runs/$runId", component: () => "one run" });
  const router = createRouter({
    routeTree: root.addChildren([inside.addChildren([runs, one])]),
    history: createMemoryHistory({ initialEntries: [address] }),
  });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <Tooltip.Provider>
        <RouterProvider router={router as never} />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  return { asked, router };
}

test("the address says which runs are asked for, and a choice changes the address", async () => {
  const { asked, router } = open("/runs?status=failed", ["use", "manage"], () => ({
    items: [run("1")],
    next: null,
  }));
  await screen.findByText("1 run shown.");
  expect(asked).toEqual(["?limit=50&status=failed"]);
  await userEvent.selectOptions(await screen.findByLabelText("Person"), "bob");
  await screen.findByText("1 run shown.");
  expect(asked.at(-1)).toBe("?limit=50&status=failed&user=bob");
  expect(router.state.location.search).toEqual({ status: "failed", user: "bob" });
  await userEvent.click(screen.getByRole("button", { name: "Clear filters" }));
  expect(router.state.location.search).toEqual({});
});

test("who may not manage is not asked about people, whatever the address says", async () => {
  const { asked } = open("/runs?user=all", ["use"], () => ({ items: [run("1")], next: null }));
  await screen.findByText("1 run shown.");
  expect(screen.queryByLabelText("Person")).toBeNull();
  expect(asked).toEqual(["?limit=50"]);
});

test("more runs are loaded when they are wanted", async () => {
  open("/runs", ["use"], (query) =>
    query.get("after") === "x" ? { items: [run("2")], next: null } : { items: [run("1")], next: "x" },
  );
  await screen.findByText("The newest 1 run.");
  await userEvent.click(screen.getByRole("button", { name: "Load more" }));
  await screen.findByText("2 runs shown.");
  expect(screen.queryByRole("button", { name: "Load more" })).toBeNull();
});

test("a failed run says its code, and a row is a link to the run", async () => {
  open("/runs", ["use"], () => ({
    items: [run("1", { status: "failed", error_code: "step_limit", title: "" })],
    next: null,
  }));
  await screen.findByText("1 run shown.");
  expect(screen.getAllByText("step_limit").length).toBeGreaterThan(0);
  await userEvent.click(screen.getAllByRole("link", { name: /Continued after approval/ })[0] as HTMLElement);
  await screen.findByText("one run");
});

test("what became of a question is said of the run that asked it, whatever its status says", async () => {
  const asked = (id: string, question: RunView["question"]) => run(id, { status: "interrupted", question });
  open("/runs?status=interrupted", ["use"], () => ({
    items: [
      asked("1", "open"),
      asked("2", "resolved"),
      asked("3", "cancelled"),
      asked("4", "expired"),
      asked("5", null),
    ],
    next: null,
  }));
  await screen.findByText("5 runs shown.");
  const words = screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => within(row).getAllByRole("cell")[1]?.textContent);
  expect(words).toEqual([
    "Waiting for approval",
    "Answered",
    "Not answered",
    "Not answered in time",
    "Waiting for approval",
  ]);
});

test("tokens that nobody told are not shown as none", async () => {
  open("/runs", ["use"], () => ({
    items: [
      run("1", {
        status: "cancelled",
        input_tokens: null,
        output_tokens: null,
        cost: null,
        usage_partial: true,
      }),
      run("2", { status: "cancelled", usage_partial: true }),
      run("3", { status: "cancelled", steps: 0, input_tokens: 0, output_tokens: 0, cost: 0 }),
    ],
    next: null,
  }));
  await screen.findByText("3 runs shown.");
  const tokens = screen
    .getAllByRole("row")
    .slice(1)
    .map((row) => within(row).getAllByRole("cell").at(-2)?.textContent);
  expect(tokens).toEqual(["unavailable", "at least 120", "0"]);
});

test("no runs at all lead to the chat, and none that fit to all of them", async () => {
  open("/runs", ["use"], () => ({ items: [], next: null }));
  expect((await screen.findByRole("link", { name: "Start a chat" })).getAttribute("href")).toBe("/chat");
});

test("when nothing fits, the filters can be cleared where that is said", async () => {
  open("/runs?status=expired", ["use"], (query) =>
    query.get("status") ? { items: [], next: null } : { items: [run("1")], next: null },
  );
  await screen.findByText("No matching runs");
  await userEvent.click(screen.getAllByRole("button", { name: "Clear filters" }).at(-1) as HTMLElement);
  await screen.findByText("1 run shown.");
});

test("a refusal is told with its code and can be tried again", async () => {
  let refuse = true;
  open("/runs", ["use"], () => (refuse ? { refused: "invalid_cursor" } : { items: [run("1")], next: null }));
  await screen.findByText("invalid_cursor");
  refuse = false;
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  await screen.findByText("1 run shown.");
});
