import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { afterEach, expect, test, vi } from "vitest";
import { ToastProvider } from "@/components/ui/toast";
import type { Me } from "@/protocol/api";
import { ChangedElsewhere } from "./changed-elsewhere";

const team = (tenant: string, name: string) => ({ tenant, name, user: "usr_1", role: "owner" as const });
const me = (tenant: string, user: string, name: string, tenants: Me["tenants"]): Me => ({
  account: null,
  authenticated_at: null,
  currency: "USD",
  name,
  permissions: ["use"],
  role: "owner",
  tenant,
  tenants,
  user,
});

function show(began: Me, now: Me): void {
  render(
    <Tooltip.Provider>
      <ToastProvider>
        <ChangedElsewhere began={began} me={now} />
      </ToastProvider>
    </Tooltip.Provider>,
  );
}

afterEach(() => vi.unstubAllGlobals());

test("a tab whose browser went to another team says so, and leads back to its own", async () => {
  const bodies: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    bodies.push(await request.json());
    return Response.json({ error: { code: "tenant_not_found", message: "It is gone." } }, { status: 404 });
  });
  const teams = [team("ten_1", "Office"), team("ten_2", "Lab")];
  show(me("ten_1", "usr_1", "Ann", teams), me("ten_2", "usr_2", "Ann", teams));
  expect(screen.getByRole("heading", { name: "You are in Lab now" })).toBeTruthy();
  expect(screen.getByRole("button", { name: "Continue in Lab" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Back to Office" }));
  expect(bodies).toEqual([{ tenant: "ten_1" }]);
  expect((await screen.findAllByText(/It is gone/)).length).toBeGreaterThan(0);
});

test("a tab whose browser somebody else signed in with does not lead back", () => {
  const teams = [team("ten_1", "Office")];
  show(me("ten_1", "usr_1", "Ann", teams), me("ten_1", "usr_2", "Bob", teams));
  expect(screen.getByRole("heading", { name: "You are signed in as Bob now" })).toBeTruthy();
  expect(screen.queryByRole("button", { name: /Back to/ })).toBeNull();
});
