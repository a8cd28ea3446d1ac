// @vitest-environment happy-dom
import { afterEach, expect, test, vi } from "vitest";
import { forkOnce } from "./fork-once";

const answers = (...given: (Response | Error)[]) => {
  const keys: (string | null)[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    keys.push(request.headers.get("Idempotency-Key"));
    const next = given.shift();
    if (next instanceof Response) return next;
    throw next ?? new Error("nobody expected this");
  });
  return keys;
};
const made = () => Response.json({ id: "ses_2" }, { status: 201 });
const refusal = (code: string, status: number) =>
  Response.json({ error: { code, message: "No.", details: {} } }, { status });

afterEach(() => vi.unstubAllGlobals());

test("a copy whose answer was lost is asked for again under the same name, the next one under another", async () => {
  const keys = answers(new TypeError("lost"), refusal("store_failed", 503), made(), made());
  await expect(forkOnce("ses_1", "msg_1")).rejects.toThrow();
  await expect(forkOnce("ses_1", "msg_1")).rejects.toMatchObject({ code: "store_failed" });
  expect((await forkOnce("ses_1", "msg_1")).id).toBe("ses_2");
  await forkOnce("ses_1", "msg_1");
  expect(keys[0]).toMatch(/^[!-~]{1,200}$/);
  expect(keys.slice(0, 3)).toEqual([keys[0], keys[0], keys[0]]);
  expect(keys[3]).not.toBe(keys[0]);
});

test("what was refused is forgotten, what must wait is not, and each message has its own name", async () => {
  const keys = answers(
    refusal("rate_limited", 429),
    refusal("session_deleted", 410),
    new TypeError("lost"),
    new TypeError("lost"),
  );
  for (const before of ["msg_1", "msg_1", "msg_1", "msg_2"])
    await expect(forkOnce("ses_1", before)).rejects.toThrow();
  expect(keys[1]).toBe(keys[0]);
  expect(new Set(keys).size).toBe(3);
});
