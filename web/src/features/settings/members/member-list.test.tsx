import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { afterEach, expect, test, vi } from "vitest";
import { createQueryClient } from "@/api/queries";
import { ReauthenticationProvider } from "@/components/reauthentication";
import { ConfirmProvider } from "@/components/ui/confirm";
import { ToastProvider } from "@/components/ui/toast";
import { formatMoment } from "@/lib/format";
import type { Me } from "@/protocol/api";
import { MemberList } from "./member-list";

afterEach(() => vi.unstubAllGlobals());

const EXPIRES = 1_800_000_000_000;
const MEMBERS = [
  { user: "ann", name: "Ann", role: "owner", email: "ann@example.com", created_at: 1 },
  { user: "zoe", name: "Zoe", role: "member", email: "zoe@example.com", created_at: 1 },
];

/** Opens the list; the first call for a link is refused until the password is entered. */
function open(permissions: string[]) {
  const posted: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname } = new URL(request.url, "http://server");
    if (pathname === "/api/members") return Response.json({ items: MEMBERS });
    if (request.method !== "POST") return Response.json({ items: [], providers: [], currency: "USD" });
    posted.push(pathname);
    if (pathname === "/api/account/confirm") return new Response(null, { status: 204 });
    if (posted.length > 1)
      return Response.json({ url: "/sign-in?token=secret", expires_at: EXPIRES }, { status: 201 });
    const error = { code: "reauthentication_required", message: "Prove who you are." };
    return Response.json({ error }, { status: 403 });
  });
  render(
    <QueryClientProvider client={createQueryClient()}>
      <Tooltip.Provider>
        <ToastProvider>
          <ConfirmProvider>
            <ReauthenticationProvider>
              <MemberList me={{ user: "ann", permissions } as Me} />
            </ReauthenticationProvider>
          </ConfirmProvider>
        </ToastProvider>
      </Tooltip.Provider>
    </QueryClientProvider>,
  );
  return posted;
}

test("an owner creates a sign-in link for a member, which is shown once", async () => {
  const posted = open(["use", "build", "manage", "own"]);
  await userEvent.click(await screen.findByRole("button", { name: "More actions for Zoe" }));
  await userEvent.click(await screen.findByRole("menuitem", { name: "Create sign-in link" }));
  await userEvent.type(await screen.findByLabelText("Password"), "a long enough password{Enter}");
  const dialog = await screen.findByRole("dialog", { name: "Sign-in link for Zoe" });
  expect(dialog.querySelector("code")?.textContent).toBe(`${location.origin}/sign-in?token=secret`);
  expect(dialog.textContent).toContain("works only once");
  expect(dialog.textContent).toContain(formatMoment(EXPIRES));
  expect(screen.getByRole("button", { name: "Copy: Sign-in link" })).toBeTruthy();
  const call = "/api/members/zoe/sign-in-link";
  expect(posted).toEqual([call, "/api/account/confirm", call]);
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(document.body.textContent).not.toContain("token=secret");
});

test("it is not offered to admins, nor for oneself", async () => {
  open(["use", "build", "manage"]);
  await screen.findByText("Zoe");
  expect(screen.queryByRole("button", { name: /More actions/ })).toBeNull();
});
