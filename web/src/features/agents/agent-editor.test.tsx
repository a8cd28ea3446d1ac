import { QueryClientProvider, useQuery } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  type RegisteredRouter,
  RouterProvider,
} from "@tanstack/react-router";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { type ReactNode, useMemo, useState } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { agentQuery, createQueryClient } from "@/api/queries";
import { ConfirmProvider } from "@/components/ui/confirm";
import { AgentEditor } from "./agent-editor";
import { NEW_AGENT, valuesOf } from "./agent-values";

const TOOL = {
  id: "tool_1",
  name: "calculator",
  kind: "builtin",
  place: "gateway",
  description: "Work out an expression.",
  parameters: {},
  effect: "read",
  approval: "never",
  timeout_s: null,
  read_only: true,
  agents: [],
};
const DEMO = { id: null, name: "demo", kind: "demo", source: "operator", models: [], has_key: false };

afterEach(() => {
  vi.unstubAllGlobals();
});

/** A server that knows a tool and a provider, and answers what is saved with the response that is given. */
function serve(saved: (request: Request) => Response, agent: () => object = () => ({})): unknown[] {
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url).pathname;
    if (request.method !== "GET") {
      bodies.push(await request.json());
      return saved(request);
    }
    if (path === "/api/agents/agt_1") return Response.json(agent());
    if (path === "/api/agent-tools") return Response.json({ items: [TOOL] });
    if (path === "/api/providers") return Response.json({ items: [DEMO] });
    return Response.json({ items: [], next: null });
  });
  return bodies;
}

async function open(
  onSaved = vi.fn(),
  component: () => ReactNode = () => <AgentEditor initial={NEW_AGENT} onSaved={onSaved} />,
) {
  const root = createRootRoute({ component });
  const router = createRouter({ routeTree: root, history: createMemoryHistory() });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <Tooltip.Provider>
        <ConfirmProvider>
          <RouterProvider router={router as unknown as RegisteredRouter} />
        </ConfirmProvider>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  await screen.findByLabelText("calculator");
  return { onSaved, user: userEvent.setup() };
}

const refused = (code: string, message: string, status: number) =>
  Response.json({ error: { code, message, details: {} } }, { status });

test("what is missing is said at its field, the first one gets the focus, and nothing is sent", async () => {
  const bodies = serve(() => Response.json({}));
  const { user } = await open();
  await user.click(screen.getByRole("button", { name: "Create agent" }));
  expect(await screen.findByText("Enter a name.")).toBeTruthy();
  expect(screen.getByText("Enter the agent's instructions.")).toBeTruthy();
  expect(document.activeElement).toBe(screen.getByLabelText("Name"));
  expect(bodies).toEqual([]);
});

test("what is filled in is sent once, by Ctrl+S too", async () => {
  const bodies = serve(() => Response.json({ ...NEW_AGENT, id: "agt_1", name: "clerk", limits: null }));
  const { user, onSaved } = await open();
  await user.type(screen.getByLabelText("Name"), "clerk");
  await user.type(screen.getByLabelText("System prompt"), "Be brief.");
  await user.click(screen.getByLabelText("calculator"));
  await user.selectOptions(screen.getByLabelText("Approval for calculator"), "ask");
  await user.keyboard("{Control>}s{/Control}");
  await waitFor(() => expect(onSaved).toHaveBeenCalledOnce());
  expect(bodies).toEqual([
    expect.objectContaining({
      name: "clerk",
      system_prompt: "Be brief.",
      model_provider: "demo",
      model_name: "demo",
      tools: [{ name: "calculator", approval: "ask" }],
      limits: null,
    }),
  ]);
});

test("a refusal is shown at the field it is about, and one that is about none above the buttons", async () => {
  const answers = [
    () => refused("agent_exists", "There is already an agent clerk.", 409),
    () => refused("forbidden", "You may not do this.", 403),
  ];
  serve(() => answers.shift()?.() ?? Response.json({}));
  const { user, onSaved } = await open();
  const name = screen.getByLabelText("Name");
  await user.type(name, "clerk");
  await user.type(screen.getByLabelText("System prompt"), "Be brief.");
  await user.click(screen.getByRole("button", { name: "Create agent" }));
  expect(await screen.findByText("There is already an agent clerk.")).toBeTruthy();
  expect(name.getAttribute("aria-invalid")).toBe("true");
  await user.type(name, "2");
  await waitFor(() => expect(screen.queryByText("There is already an agent clerk.")).toBeNull());
  await user.click(screen.getByRole("button", { name: "Create agent" }));
  expect(await screen.findByText(/You may not do this/)).toBeTruthy();
  expect(onSaved).not.toHaveBeenCalled();
});

test("another provider brings its own model, unless somebody named one", async () => {
  serve(() => Response.json({}));
  const { user } = await open();
  const model = screen.getByLabelText("Model");
  await user.selectOptions(screen.getByLabelText("Provider"), "openai");
  expect(model).toHaveProperty("value", "");
  expect(screen.getByText(/openai is not connected/)).toBeTruthy();
  expect(screen.getByText("This provider has no model list. Enter the model name.")).toBeTruthy();
  await user.type(model, "tuned");
  await user.selectOptions(screen.getByLabelText("Provider"), "demo");
  expect(model).toHaveProperty("value", "tuned");
});

/** The form of an agent that somebody else saves under another description. */
function Overtaken(): ReactNode {
  const [description, setDescription] = useState("");
  const [initial, setInitial] = useState({ ...NEW_AGENT, name: "clerk", system_prompt: "Be brief." });
  return (
    <>
      <button
        type="button"
        onClick={() => {
          setDescription("theirs");
          setInitial({ ...initial, description: "theirs" });
        }}
      >
        Somebody saves
      </button>
      <AgentEditor agentId="agt_1" initial={initial} version={description.length} onSaved={vi.fn()} />
    </>
  );
}

test("who changes an agent that somebody else saves is told, and can take their version", async () => {
  serve(() => Response.json({}));
  const { user } = await open(vi.fn(), Overtaken);
  await user.type(screen.getByLabelText("Name"), "2");
  expect(screen.queryByText(/Someone else saved/)).toBeNull();
  await user.click(screen.getByRole("button", { name: "Somebody saves" }));
  expect(await screen.findByText(/Someone else saved this agent/)).toBeTruthy();
  expect(screen.getByLabelText("Name")).toHaveProperty("value", "clerk2");
  await user.click(screen.getByRole("button", { name: "Discard" }));
  await waitFor(() => expect(screen.queryByText(/Someone else saved/)).toBeNull());
  expect(screen.getByLabelText("Name")).toHaveProperty("value", "clerk");
  expect(screen.getByLabelText(/Description/)).toHaveProperty("value", "theirs");
});

/** The form of an agent as the server has it. */
function Saved(): ReactNode {
  const { data: agent } = useQuery(agentQuery("agt_1"));
  const initial = useMemo(() => agent && valuesOf(agent), [agent]);
  return initial ? (
    <AgentEditor agentId="agt_1" initial={initial} version={agent?.updated_at ?? null} onSaved={vi.fn()} />
  ) : null;
}

test("what somebody else saved a moment ago is not replaced before one was told", async () => {
  const agent = { ...NEW_AGENT, id: "agt_1", name: "clerk", system_prompt: "Be brief.", limits: null };
  let version = 1;
  const answers = [
    () => refused("changed_elsewhere", "Someone else saved the agent.", 412),
    () => Response.json({ ...agent, name: "clerk2", updated_at: 3 }),
  ];
  const tags: (string | null)[] = [];
  serve(
    (request) => {
      tags.push(request.headers.get("If-Match"));
      return answers.shift()?.() ?? Response.json({});
    },
    () => ({ ...agent, updated_at: version }),
  );
  const { user } = await open(vi.fn(), Saved);
  await user.type(screen.getByLabelText("Name"), "2");
  version = 2;
  await user.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByText(/Someone else saved this agent/)).toBeTruthy();
  expect(screen.getByLabelText("Name")).toHaveProperty("value", "clerk2");
  await user.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByText("All changes saved");
  expect(tags).toEqual(['"1"', '"2"']);
});
