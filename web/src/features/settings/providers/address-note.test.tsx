/** The note below a base URL, against a server that answers from a script. */
import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, test, vi } from "vitest";
import { createQueryClient } from "@/api/queries";
import type { AddressCheck } from "@/protocol/api";
import { AddressNote } from "./address-note";

afterEach(() => vi.unstubAllGlobals());

function show(urls: string | string[], ...checks: AddressCheck[]): unknown[] {
  const asked: unknown[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(await request.json());
    return Response.json(checks[asked.length - 1] ?? checks.at(-1));
  });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <Tooltip.Provider>
        {[urls].flat().map((url) => (
          <AddressNote key={url} url={url} />
        ))}
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  return asked;
}

test("a closed address has the line that opens it", async () => {
  const setting = "AGIO_EGRESS_ALLOW=127.0.0.1:11434";
  const asked = show(" http://127.0.0.1:11434/v1 ", { state: "refused", setting });
  expect(await screen.findByText(setting)).toBeDefined();
  expect(screen.getByRole("button", { name: "Copy setting" })).toBeDefined();
  expect(asked).toEqual([{ base_url: "http://127.0.0.1:11434/v1" }]);
});

test("an address that was opened meanwhile is checked again when the page is looked at", async () => {
  const setting = "AGIO_EGRESS_ALLOW=127.0.0.1:11434";
  show("http://127.0.0.1:11434/v1", { state: "refused", setting }, { state: "allowed", setting: null });
  await screen.findByText(setting);
  expect(screen.getByText(/AGIO_EGRESS_ALLOW=<existing>,127\.0\.0\.1:11434/)).toBeDefined();
  window.dispatchEvent(new Event("visibilitychange"));
  expect(await screen.findByText(/allowed by this server/)).toBeDefined();
});

test("an address that is open says so", async () => {
  show("http://localhost:1234/v1", { state: "allowed", setting: null });
  expect(await screen.findByText(/allowed by this server/)).toBeDefined();
});

test("a name that is not found is shown differently from one that is closed", async () => {
  show("http://mac.local:1234/v1", { state: "unknown", setting: "AGIO_EGRESS_ALLOW=mac.local:1234" });
  expect(await screen.findByText(/mac\.local:1234 was not found/)).toBeDefined();
});

test("an address that nothing opens has no line", async () => {
  show("http://169.254.169.254/v1", { state: "refused", setting: null });
  expect(await screen.findByText(/never calls 169\.254\.169\.254/)).toBeDefined();
  expect(screen.queryByText(/AGIO_EGRESS_ALLOW/)).toBeNull();
});

test("the server is not asked about public addresses, nor about half of one", async () => {
  const others = ["https://api.openai.com/v1", "http://", "127.0.0.1", "http://127.0.0.1/v1?key=1", ""];
  const asked = show([...others, "http://10.0.0.1/v1"], { state: "allowed", setting: null });
  expect(await screen.findAllByText(/server/)).toHaveLength(1);
  expect(asked).toEqual([{ base_url: "http://10.0.0.1/v1" }]);
});
