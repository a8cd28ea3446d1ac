import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterContextProvider,
} from "@tanstack/react-router";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { beforeAll, expect, test, vi } from "vitest";
import { Problem } from "@/api/problem";
import { KeptStates } from "@/components/turn/kept-state";
import { ToastProvider } from "@/components/ui/toast";
import type { Branch } from "@/protocol/api";
import type { Answer } from "@/protocol/commands";
import { newCall } from "@/state/fold";
import { newTurn, type Part, type Turn } from "@/state/thread";
import { TurnView, type TurnViewProps } from "./turn-view";

const router = createRouter({ routeTree: createRootRoute(), history: createMemoryHistory() });

function show(turn: Partial<Turn>, props: Partial<TurnViewProps> = {}) {
  const all: TurnViewProps = {
    sessionId: "ses_1",
    turn: { ...newTurn("run_1", "completed"), ...turn },
    live: false,
    answerable: false,
    onAnswer: async () => undefined,
    ...props,
  };
  return render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { enabled: false } } })}>
      <RouterContextProvider router={router as never}>
        <Tooltip.Provider>
          <ToastProvider>
            <KeptStates>
              <TurnView {...all} />
            </KeptStates>
          </ToastProvider>
        </Tooltip.Provider>
      </RouterContextProvider>
    </QueryClientProvider>,
  );
}

const text = (id: string, words: string): Part => ({
  kind: "text",
  id,
  text: words,
  seq: 1,
  startedAt: null,
  endedAt: null,
});
const postcard = (id: string, known = {}) =>
  newCall(id, "send_postcard", { args: '{"to":"Ada","id":12345678901234567890}', asked: true, ...known });
const question = (id: string, callId: string) => ({
  id,
  callId,
  tool: "send_postcard",
  message: "May it?",
  expiresAt: null,
  input: null,
});

// The card is loaded with the first question that is asked.
beforeAll(async () => {
  const { unmount } = show(
    { status: "interrupted", parts: [postcard("c1")], questions: [question("q1", "c1")] },
    { answerable: true },
  );
  await screen.findByRole("button", { name: "Approve" });
  unmount();
});

test("a message is shown as it was written, and can be linked to", () => {
  const { container } = show({ asked: [{ id: "m1", content: "**not bold** <b>x</b>", at: 1 }] });
  expect(container.querySelector("#message-m1")?.textContent).toContain("**not bold** <b>x</b>");
  expect(container.querySelector("#message-m1 b, #message-m1 strong")).toBeNull();
});

test("an answer is Markdown, with an id of its own", () => {
  const { container } = show({ parts: [text("t1", "**bold**")] });
  expect(container.querySelector("#message-t1 strong")?.textContent).toBe("bold");
});

test("a system message is a note as it was written, neither said nor answered, and can be linked to", () => {
  const words = "**Answer** again with <b>JSON</b>.";
  const system: Part = { kind: "system", id: "s1", text: words, seq: 0, startedAt: null, endedAt: null };
  show({ parts: [text("t1", "Hm."), system, text("t2", "{}")] }, { highlighted: "s1" });
  const note = screen.getByRole("note", { name: "System message" });
  expect(note.id).toBe("message-s1");
  expect(note.textContent).toContain(words);
  expect(note.className).toContain("ring-2");
  expect(note.querySelector("b, strong")).toBeNull();
  expect(screen.queryByRole("article", { name: "You said" })).toBeNull();
});

test("a long message is folded until it is unfolded", async () => {
  show({ asked: [{ id: "m1", content: "line\n".repeat(40), at: null }] });
  await userEvent.click(screen.getByRole("button", { name: "Show more" }));
  expect(screen.getByRole("button", { name: "Show less" }).getAttribute("aria-expanded")).toBe("true");
});

test("a message can be edited, keeps its files, and Escape leaves it as it is", async () => {
  const file = { type: "document", source: { type: "data", value: "QQ==", mimeType: "text/plain" } } as const;
  const content = [{ type: "text" as const, text: "one" }, file];
  const onEdit = vi.fn(async () => undefined);
  show({ asked: [{ id: "m1", content, at: null }] }, { onEdit });
  await userEvent.click(screen.getByRole("button", { name: "Edit message" }));
  await screen.findByRole("textbox");
  await userEvent.keyboard("{Escape}");
  expect(screen.queryByRole("textbox")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Edit message" }));
  await userEvent.keyboard(" two");
  await userEvent.click(screen.getByRole("button", { name: "Send" }));
  expect(onEdit).toHaveBeenCalledWith(expect.objectContaining({ id: "m1" }), [
    { type: "text", text: "one two" },
    file,
  ]);
});

test("an edit that is refused says why and keeps the words", async () => {
  const onEdit = async () => {
    throw new Problem("session_full", "There is no room.");
  };
  show({ asked: [{ id: "m1", content: "one", at: null }] }, { onEdit });
  await userEvent.click(screen.getByRole("button", { name: "Edit message" }));
  await userEvent.click(await screen.findByRole("button", { name: "Send" }));
  expect((await screen.findByRole("alert")).textContent).toContain("There is no room.");
  expect(screen.getByRole("textbox")).toHaveProperty("value", "one");
});

test("a tool unfolds to its arguments, digit by digit, and its result", async () => {
  show({ parts: [postcard("c1", { result: "sent", startedAt: 1_000, endedAt: 2_500 })] });
  const card = screen.getByRole("button", { name: /send_postcard/ });
  expect(card.textContent).toContain("1.5 s");
  await userEvent.click(card);
  expect(await screen.findByText("12345678901234567890")).toBeTruthy();
  expect(screen.getByText("sent")).toBeTruthy();
});

test("a failed tool says its code", () => {
  show({ parts: [postcard("c1", { result: "no", error: "upstream_error" })] });
  expect(screen.getByRole("button", { name: /send_postcard/ }).textContent).toContain(
    "The service answered with an error",
  );
});

test("pictures of a result are shown only if they are carried along or ours", async () => {
  const result = [
    { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } },
    { type: "image", source: { type: "data", value: "PHN2Zz4=", mimeType: "image/svg+xml" } },
    { type: "image", source: { type: "url", value: "https://evil.example/p.png" } },
    { type: "image", source: { type: "file", value: "../me" } },
  ];
  const { container } = show({ parts: [postcard("c1", { result })] });
  await userEvent.click(screen.getByRole("button", { name: /send_postcard/ }));
  await screen.findByText("Result");
  expect([...container.querySelectorAll("img")].map((image) => image.getAttribute("src"))).toEqual([
    "data:image/png;base64,iVBORw0KGgo=",
  ]);
});

test("one question is answered at once", async () => {
  const onAnswer = vi.fn(async () => undefined);
  const turn = { status: "interrupted" as const, parts: [postcard("c1")], questions: [question("q1", "c1")] };
  show(turn, { answerable: true, onAnswer });
  expect(screen.getByText("12345678901234567890")).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Approve" }));
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith([{ interrupt_id: "q1", approved: true }]);
});

test("changed arguments must be an object, and are sent as such", async () => {
  const onAnswer = vi.fn(async () => undefined);
  const parts = [newCall("c1", "send_postcard", { args: '{"to":"Ada"}', asked: true })];
  show({ status: "interrupted", parts, questions: [question("q1", "c1")] }, { answerable: true, onAnswer });
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  const editor = await screen.findByRole("textbox");
  expect(editor).toBe(document.activeElement);
  const approve = screen.getByRole("button", { name: "Approve with changes" });
  for (const wrong of ["[[1]", '{{"to": }', '{{"to": 12345678901234567890}']) {
    await userEvent.clear(editor);
    await userEvent.type(editor, wrong);
    expect(approve).toHaveProperty("disabled", true);
    expect(screen.getByRole("alert").textContent).not.toBe("");
  }
  await userEvent.click(screen.getByRole("button", { name: "Reset" }));
  await userEvent.clear(editor);
  await userEvent.type(editor, '{{"to": "Bob"}');
  await userEvent.click(approve);
  expect(onAnswer).toHaveBeenCalledWith([{ interrupt_id: "q1", approved: true, edited_args: { to: "Bob" } }]);
});

test("changed arguments that are refused stay open, and the first ones are not offered instead", async () => {
  const onAnswer = async () => {
    throw new Problem("invalid_answer", "They do not fit.", 422);
  };
  const parts = [newCall("c1", "send_postcard", { args: '{"to":"Ada"}', asked: true })];
  show({ status: "interrupted", parts, questions: [question("q1", "c1")] }, { answerable: true, onAnswer });
  await userEvent.click(screen.getByRole("button", { name: "Edit" }));
  await userEvent.clear(await screen.findByRole("textbox"));
  await userEvent.type(screen.getByRole("textbox"), '{{"for": "Bob"}');
  await userEvent.click(screen.getByRole("button", { name: "Approve with changes" }));
  expect(await screen.findByText(/They do not fit/)).toBeTruthy();
  expect(screen.getByRole("textbox")).toHaveProperty("value", '{"for": "Bob"}');
  expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
});

test("several questions are decided one by one and sent together", async () => {
  const onAnswer = vi.fn(async (_: Answer[]) => undefined);
  const parts = [postcard("c1"), newCall("c2", "delete_all", { args: "{}", asked: true })];
  const questions = [question("q1", "c1"), question("q2", "c2")];
  show({ status: "interrupted", parts, questions }, { answerable: true, onAnswer });
  const send = screen.getByRole("button", { name: "Send answers" });
  await userEvent.click(screen.getAllByRole("button", { name: "Approve" })[0] as HTMLElement);
  expect(send).toHaveProperty("disabled", true);
  await userEvent.click(screen.getByRole("button", { name: "Reject" }));
  await userEvent.type(screen.getByRole("textbox"), "too much{Enter}");
  expect(onAnswer).not.toHaveBeenCalled();
  await userEvent.click(send);
  expect(onAnswer).toHaveBeenCalledExactlyOnceWith([
    { interrupt_id: "q1", approved: true },
    { interrupt_id: "q2", approved: false, reason: "too much" },
  ]);
});

test("an answer that is refused says why and can be given again", async () => {
  const onAnswer = async () => {
    throw new Problem("interrupt_expired", "It came too late.");
  };
  const turn = { status: "interrupted" as const, parts: [postcard("c1")], questions: [question("q1", "c1")] };
  show(turn, { answerable: true, onAnswer });
  await userEvent.click(screen.getByRole("button", { name: "Approve" }));
  expect((await screen.findByRole("alert")).textContent).toContain("It came too late.");
  expect(screen.getByRole("button", { name: "Approve" })).toHaveProperty("disabled", false);
});

test("the questions take the focus, but not from somebody who types", () => {
  const turn = { status: "interrupted" as const, parts: [postcard("c1")], questions: [question("q1", "c1")] };
  const input = document.createElement("input");
  document.body.append(input);
  input.focus();
  const first = show(turn, { answerable: true });
  expect(document.activeElement).toBe(input);
  first.unmount();
  input.remove();
  show(turn, { answerable: true });
  expect(document.activeElement?.getAttribute("aria-label")).toBe("Approval request");
});

test("questions that were answered are calls that say how", () => {
  const parts = [postcard("c1", { result: "sent" }), postcard("c2", { result: "no", error: "not_approved" })];
  show({ status: "interrupted", parts, questions: [question("q1", "c1"), question("q2", "c2")] });
  const [first, second] = screen.getAllByRole("button", { name: /send_postcard/ });
  expect(first?.textContent).toContain("Approved");
  expect(second?.textContent).toContain("Rejected");
});

test("a call approved with changes shows both arguments, one rejected shows why", async () => {
  const changed = { approved: true, reason: null, editedArgs: { to: "Bob" } };
  const refused = { approved: false, reason: "too much", editedArgs: null, toTool: false };
  const parts = [
    postcard("c1", { result: "sent", answer: changed }),
    newCall("c2", "delete_all", { answer: refused }),
  ];
  show({ status: "interrupted", parts, questions: [question("q1", "c1"), question("q2", "c2")] });
  const card = screen.getByRole("button", { name: /send_postcard/ });
  expect(card.textContent).toContain("Approved with changes");
  await userEvent.click(card);
  expect(screen.getByText('"Ada"')).toBeTruthy();
  expect(screen.getByText('"Bob"')).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: /delete_all/ }));
  expect(screen.getByText("too much")).toBeTruthy();
});

test.each([
  [{ status: "queued" as const }, false, "Queued"],
  [{ status: "running" as const }, true, "Working"],
  [{ status: "cancelled" as const }, false, "Stopped."],
  [{ status: "failed" as const, error: { code: "model_failed", message: "It broke." } }, false, "It broke."],
])("a turn that is %o says so", (turn, live, words) => {
  const { container } = show(turn, { live });
  expect(container.textContent).toContain(words);
});

test("a retry is counted down, and is one line when it is over", () => {
  vi.spyOn(Date, "now").mockReturnValue(10_000);
  const notice: Part = {
    kind: "notice",
    id: "n1",
    level: "error",
    code: "busy",
    message: "Busy.",
    retryAt: 13_000,
    seq: 1,
  };
  const first = show({ status: "running", parts: [notice] }, { live: true });
  expect(first.container.textContent).toContain("Retrying in 3 s");
  first.unmount();
  const { container } = show({ parts: [notice, text("t1", "Fine.")] });
  expect(container.textContent).not.toContain("Retrying");
});

test("the foot says what the turn took and copies the answer as it was written", async () => {
  const user = userEvent.setup();
  const onRegenerate = vi.fn();
  show(
    {
      step: 2,
      spent: { inputTokens: 900, outputTokens: 50, cost: 0.5, partial: false },
      startedAt: 1_000,
      endedAt: 3_000,
      parts: [text("t1", "**a**"), text("t2", "b")],
    },
    { onRegenerate },
  );
  const answer = screen.getByRole("article", { name: "Answer" });
  expect(answer.textContent).toContain("2 steps · 950 tokens · $0.50 · 2.0 s");
  expect(within(answer).getByRole("link", { name: "Details" }).getAttribute("href")).toBe("/runs/run_1");
  await user.click(within(answer).getByRole("button", { name: "Copy answer" }));
  await waitFor(async () => expect(await navigator.clipboard.readText()).toBe("**a**\n\nb"));
  await user.click(within(answer).getByRole("button", { name: "Regenerate" }));
  expect(onRegenerate).toHaveBeenCalledExactlyOnceWith();
});

const versions = (shown: string): Branch => ({
  run_id: shown,
  alternatives: ["run_1", "run_2", "run_3"].map((id) => ({ run_id: id, leaf_run_id: `${id} leaf` })),
});

test("a turn with versions says which one it is, and leads to those beside it", async () => {
  const onChoose = vi.fn();
  show({ asked: [{ id: "m1", content: "a", at: null }] }, { branch: versions("run_2"), onChoose });
  const group = await screen.findByRole("group", { name: "Versions" });
  expect(within(group).getByRole("status").textContent).toBe("Version 2/ of 3");
  await userEvent.click(within(group).getByRole("button", { name: "Previous version" }));
  await userEvent.click(within(group).getByRole("button", { name: "Next version" }));
  expect(onChoose.mock.calls.map(([, leaf]) => leaf)).toEqual(["run_1 leaf", "run_3 leaf"]);
});

test("what cannot be done now keeps its place and says why", async () => {
  const [onChoose, onEdit, onRegenerate] = [vi.fn(), vi.fn(), vi.fn()];
  show(
    { asked: [{ id: "m1", content: "a", at: null }], parts: [text("t1", "b")] },
    { branch: versions("run_2"), onChoose, onEdit, onRegenerate, blocked: "Wait." },
  );
  for (const name of ["Previous version", "Next version", "Edit message", "Regenerate"]) {
    const button = await screen.findByRole("button", { name });
    expect([button.getAttribute("aria-disabled"), button.getAttribute("aria-description")]).toEqual([
      "true",
      "Wait.",
    ]);
    await userEvent.click(button);
  }
  expect(screen.queryByRole("textbox")).toBeNull();
  for (const call of [onChoose, onEdit, onRegenerate]) expect(call).not.toHaveBeenCalled();
});

test("a helper unfolds to its own parts", async () => {
  const part: Part = {
    kind: "subagent",
    task: "",
    id: "s1",
    name: "researcher",
    parts: [text("t9", "Inside.")],
    status: "completed",
    message: null,
    seq: 1,
  };
  show({ parts: [part] });
  expect(screen.queryByText("Inside.")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: /researcher/ }));
  expect(screen.getByText("Inside.")).toBeTruthy();
});

test("the foot of the last answer is there for all to see, those of others when they are pointed at", () => {
  const footOf = (props: Partial<TurnViewProps>) => {
    const { unmount } = show({ parts: [text("m1", "Noon.")] }, props);
    const hides = screen
      .getByRole("link", { name: "Details" })
      .parentElement?.classList.contains("opacity-0");
    unmount();
    return hides;
  };
  expect(footOf({ last: true })).toBe(false);
  expect(footOf({})).toBe(true);
});

test("what a tool asks is a form, whose answer is sent when it is complete", async () => {
  const form = {
    type: "object",
    properties: { colour: { type: "string", enum: ["red", "green"], title: "Colour" } },
    required: ["colour"],
  };
  const onAnswer = vi.fn(async () => undefined);
  const asks = { ...question("q1", "c1"), message: "Which colour?", input: { form, url: null } };
  show({ status: "interrupted", parts: [postcard("c1")], questions: [asks] }, { answerable: true, onAnswer });
  await userEvent.click(await screen.findByRole("button", { name: "Send answer" }));
  expect(onAnswer).not.toHaveBeenCalled();
  await userEvent.selectOptions(screen.getByLabelText("Colour"), "green");
  await userEvent.click(screen.getByRole("button", { name: "Send answer" }));
  await waitFor(() =>
    expect(onAnswer).toHaveBeenCalledWith([
      { interrupt_id: "q1", approved: true, content: { colour: "green" } },
    ]),
  );
});
