import { fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { beforeEach, expect, test, vi } from "vitest";
import { Problem } from "@/api/problem";
import type { Content } from "@/protocol/commands";
import { Composer, type ComposerProps } from "./composer";

beforeEach(() => sessionStorage.clear());

function show(props: Partial<ComposerProps> = {}) {
  const sent: Content[] = [];
  const onSend = async (content: Content) => {
    sent.push(content);
  };
  const shown = render(
    <Tooltip.Provider>
      <Composer draft="ses_1" placeholder="Message demo" onSend={onSend} {...props} />
    </Tooltip.Provider>,
  );
  return { sent, box: screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" }), ...shown };
}

test("Enter sends what was written and empties the box", async () => {
  const { sent, box } = show();
  await userEvent.type(box, "hello{Enter}");
  expect(sent).toEqual(["hello"]);
  await waitFor(() => expect(box.value).toBe(""));
});

test("the box takes the focus when it appears and after sending, but not from another field or a menu", async () => {
  const { box, unmount } = show();
  expect(document.activeElement).toBe(box);
  unmount();
  document.body.innerHTML = '<input><div role="menu"><a href="/runs">Runs</a></div>';
  for (const other of document.querySelectorAll<HTMLElement>("input, a")) {
    other.focus();
    let taken = () => {};
    const again = show({ onSend: () => new Promise((resolve) => (taken = resolve)) });
    expect(document.activeElement).toBe(other);
    await userEvent.type(again.box, "hello{Enter}");
    other.focus();
    taken();
    await waitFor(() => expect(again.box.value).toBe(""));
    expect(document.activeElement).toBe(other);
    again.unmount();
  }
  document.body.innerHTML = "";
});

test("while an answer is written, Enter queues a message, and Ctrl and Enter or the button add it", async () => {
  const onSend = vi.fn(async () => undefined);
  const { box } = show({ busy: true, steerable: true, onSend });
  expect(screen.queryByRole("button", { name: "Add to this answer" })).toBeNull();
  await userEvent.type(box, "later{Enter}");
  await userEvent.type(box, "now{Control>}{Enter}{/Control}");
  await userEvent.type(box, "also now");
  await userEvent.click(screen.getByRole("button", { name: "Add to this answer" }));
  expect(onSend.mock.calls).toEqual([
    ["later", false],
    ["now", true],
    ["also now", true],
  ]);
});

test("where nothing is being written, Ctrl and Enter send", async () => {
  const onSend = vi.fn(async () => undefined);
  const { box } = show({ onSend });
  await userEvent.type(box, "hello{Control>}{Enter}{/Control}");
  expect(onSend.mock.calls).toEqual([["hello", false]]);
});

test("Shift and Enter begin a new line", async () => {
  const { sent, box } = show();
  await userEvent.type(box, "one{Shift>}{Enter}{/Shift}two");
  expect(box.value).toBe("one\ntwo");
  expect(sent).toEqual([]);
});

test("Enter that ends the composition of a character does not send", async () => {
  const { sent, box } = show();
  await userEvent.type(box, "にほ");
  fireEvent.keyDown(box, { key: "Enter", isComposing: true });
  fireEvent.keyDown(box, { key: "Enter", keyCode: 229 });
  expect(sent).toEqual([]);
  fireEvent.keyDown(box, { key: "Enter" });
  expect(sent).toEqual(["にほ"]);
});

test("nothing is sent of spaces and empty lines", async () => {
  const { sent, box } = show();
  await userEvent.type(box, "  {Shift>}{Enter}{/Shift} {Enter}");
  expect(sent).toEqual([]);
});

test("the first line keeps its indentation, the empty lines around are left out", async () => {
  const { sent, box } = show();
  fireEvent.change(box, { target: { value: "\n  \n  if x:\n    y\n\n" } });
  fireEvent.keyDown(box, { key: "Enter" });
  expect(sent).toEqual(["  if x:\n    y"]);
});

test("Esc stops what runs, once", async () => {
  const onStop = vi.fn();
  const { rerender, box } = show({ busy: true, onStop });
  await userEvent.type(box, "{Escape}");
  expect(onStop).toHaveBeenCalledTimes(1);
  rerender(
    <Tooltip.Provider>
      <Composer draft="ses_1" placeholder="" onSend={async () => undefined} busy stopping onStop={onStop} />
    </Tooltip.Provider>,
  );
  await userEvent.type(box, "{Escape}");
  expect(onStop).toHaveBeenCalledTimes(1);
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Stopping…" }).disabled).toBe(true);
});

test("Esc does nothing while nothing runs or a character is composed", () => {
  const onStop = vi.fn();
  const { box, unmount } = show({ busy: false, onStop });
  fireEvent.keyDown(box, { key: "Escape" });
  unmount();
  const { box: other } = show({ busy: true, onStop });
  fireEvent.keyDown(other, { key: "Escape", isComposing: true });
  expect(onStop).not.toHaveBeenCalled();
});

test("what could not be sent stays in the box, with the reason", async () => {
  const refused = async () => {
    throw new Problem("agent_inactive", "The agent is switched off.", 409);
  };
  const { box } = show({ onSend: refused });
  await userEvent.type(box, "keep me{Enter}");
  expect((await screen.findByRole("alert")).textContent).toContain("The agent is switched off.");
  expect(box.value).toBe("keep me");
});

test("a second Enter while a message is on its way does not send it twice", async () => {
  const waiting: (() => void)[] = [];
  const onSend = vi.fn(() => new Promise<void>((resolve) => waiting.push(resolve)));
  const { box } = show({ onSend });
  await userEvent.type(box, "once{Enter}{Enter}");
  expect(onSend).toHaveBeenCalledTimes(1);
  waiting[0]?.();
  await waitFor(() => expect(box.value).toBe(""));
});

test("a draft is there again when the chat is opened again", async () => {
  const { box, unmount } = show();
  await userEvent.type(box, "half a thought");
  unmount();
  const again = show().box;
  expect(again.value).toBe("half a thought");
  expect(again.selectionStart).toBe("half a thought".length);
});

test("a message of a hundred thousand letters is sent, one over the limit is refused before", () => {
  const { sent, box } = show();
  fireEvent.change(box, { target: { value: "é".repeat(140_000) } });
  fireEvent.keyDown(box, { key: "Enter" });
  expect(sent).toEqual([]);
  expect(screen.getByText(/the limit for a message is 256 KB/)).toBeTruthy();
  fireEvent.change(box, { target: { value: "a".repeat(100_000) } });
  fireEvent.keyDown(box, { key: "Enter" });
  expect(sent).toEqual(["a".repeat(100_000)]);
});

const STORED = { id: "file_1", name: "file_1.txt", media_type: "text/plain", size: 5, created_at: 1 };

async function choose(container: HTMLElement, files: File[]) {
  const chooser = container.querySelector<HTMLInputElement>("input[type=file]");
  if (!chooser) throw new Error("There is no way to choose files.");
  await userEvent.upload(chooser, files);
}

/** Files that stay on their way until the returned function is called. */
function holdUploads(): (answer: Response) => void {
  let settle: (answer: Response) => void = () => undefined;
  const answered = new Promise<Response>((resolve) => {
    settle = resolve;
  });
  vi.spyOn(globalThis, "fetch").mockImplementation(() => answered);
  return settle;
}

test("a message sent while its file is on its way goes when the file is there, once", async () => {
  const arrive = holdUploads();
  const { sent, box, container } = show();
  await choose(container, [new File(["hello"], "notes.txt")]);
  await userEvent.type(box, "read it{Enter}{Enter}");
  expect(
    await screen.findByText("Uploading… Stay on this page: the message is sent when the upload finishes."),
  ).toBeTruthy();
  expect(sent).toEqual([]);
  arrive(Response.json(STORED, { status: 201 }));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]).toMatchObject([{ text: "read it" }, { source: { value: "file_1" } }]);
  await waitFor(() => expect(box.value).toBe(""));
});

test("writing on while a file is on its way takes the sending back", async () => {
  const arrive = holdUploads();
  const { sent, box, container } = show();
  await choose(container, [new File(["hello"], "notes.txt")]);
  await userEvent.type(box, "read it{Enter}, please");
  arrive(Response.json(STORED, { status: 201 }));
  await waitFor(() => expect(screen.queryAllByText(/Uploading/)).toEqual([]));
  expect(sent).toEqual([]);
  expect(box.value).toBe("read it, please");
});

test("taking the file away takes the sending back", async () => {
  holdUploads();
  const { sent, box, container } = show();
  await choose(container, [new File(["hello"], "notes.txt")]);
  await userEvent.type(box, "sum it up{Enter}");
  await userEvent.click(screen.getByRole("button", { name: "Remove notes.txt" }));
  await waitFor(() => expect(screen.queryAllByText(/Uploading/)).toEqual([]));
  expect(sent).toEqual([]);
  expect(box.value).toBe("sum it up");
});

test("who leaves before the file is there is told later that it was not sent", async () => {
  holdUploads();
  const { sent, box, container, unmount } = show();
  await choose(container, [new File(["hello"], "notes.txt")]);
  await userEvent.type(box, "sum it up{Enter}");
  unmount();
  const later = show();
  expect(screen.getByText(/Not sent: you left while a file was uploading/)).toBeTruthy();
  expect(later.box.value).toBe("sum it up");
  await userEvent.type(later.box, "!");
  expect(screen.queryByText(/Not sent/)).toBeNull();
  later.unmount();
  show();
  expect(screen.queryByText(/Not sent/)).toBeNull();
  expect(sent).toEqual([]);
});

test("what is attached while a message is on its way stays for the next one", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json(STORED, { status: 201 }));
  const waiting: (() => void)[] = [];
  const { box, container } = show({ onSend: () => new Promise((resolve) => waiting.push(resolve)) });
  await userEvent.type(box, "first{Enter}");
  await choose(container, [new File(["hello"], "notes.txt")]);
  waiting[0]?.();
  await waitFor(() => expect(box.value).toBe(""));
  expect(screen.getByRole("button", { name: "Remove notes.txt" })).toBeTruthy();
});

test("a message whose file could not be stored stays, and does not go later", async () => {
  const arrive = holdUploads();
  const { sent, box, container } = show();
  await choose(container, [new File(["hello"], "notes.txt")]);
  await userEvent.type(box, "read it{Enter}");
  arrive(Response.json({ error: { code: "disk_full", message: "The disk is full." } }, { status: 507 }));
  await screen.findByText(/A file could not be attached/);
  await userEvent.click(screen.getByRole("button", { name: "Remove notes.txt" }));
  expect(sent).toEqual([]);
  expect(box.value).toBe("read it");
});

test("a file is sent by its id, with its name; one that is empty is refused in words", async () => {
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => Response.json(STORED, { status: 201 }));
  const { sent, box, container } = show();
  await choose(container, [new File(["hello"], "notes.txt"), new File([], "empty.txt")]);
  expect(await screen.findByText("The file is empty.")).toBeTruthy();
  await userEvent.type(box, "read it{Enter}");
  expect(sent).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Remove empty.txt" }));
  await waitFor(() => expect(screen.queryByText("Uploading…")).toBeNull());
  await userEvent.type(box, "{Enter}");
  expect(sent).toEqual([
    [
      { type: "text", text: "read it" },
      {
        type: "document",
        source: { type: "file", value: "file_1", mimeType: "text/plain" },
        metadata: { name: "notes.txt" },
      },
    ],
  ]);
});
