import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { afterEach, expect, test, vi } from "vitest";
import { createQueryClient } from "@/api/queries";
import { MemoryDialog } from "./memory-dialog";
import { NEW_MEMORY } from "./memory-form";

afterEach(() => vi.unstubAllGlobals());

test("a memory for every agent needs no agent, one for an agent does", async () => {
  vi.stubGlobal("fetch", async (request: Request) =>
    Response.json(
      new URL(request.url).pathname === "/api/agents"
        ? { items: [{ id: "agt_1", name: "ada" }], next: null }
        : { permissions: [] },
    ),
  );
  const onSave = vi.fn(async () => undefined);
  render(
    <QueryClientProvider client={createQueryClient()}>
      <Tooltip.Provider>
        <MemoryDialog
          title="Add a memory"
          action="Add"
          initial={NEW_MEMORY}
          choosesAgent
          onSave={onSave}
          onClose={vi.fn()}
        />
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  await screen.findByRole("option", { name: "ada" });
  await userEvent.type(screen.getByRole("textbox", { name: "Memory" }), "Prefers trains.");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  expect(await screen.findByText("Choose an agent.")).toBeTruthy();
  await userEvent.selectOptions(screen.getByLabelText("Applies to"), "user");
  await userEvent.click(screen.getByRole("button", { name: "Add" }));
  await waitFor(() =>
    expect(onSave).toHaveBeenCalledWith(expect.objectContaining({ agent_id: "agt_1", scope: "user" })),
  );
});
