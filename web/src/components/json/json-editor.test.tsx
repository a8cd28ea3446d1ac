import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { useState } from "react";
import { expect, test } from "vitest";
import { JsonEditor, type JsonEditorProps } from "./json-editor";
import { JsonView } from "./json-view";

function Editor(props: Partial<JsonEditorProps>) {
  const [value, setValue] = useState(props.value ?? "{}");
  return <JsonEditor label="Arguments" {...props} value={value} onChange={setValue} />;
}

const view = (text: string) =>
  render(
    <Tooltip.Provider>
      <JsonView text={text} label="Result" />
    </Tooltip.Provider>,
  );

test("what is wrong is told with its place, tied to the field, and gone when it is right", async () => {
  render(<Editor value={'{\n  "a" 1\n}'} />);
  const field = screen.getByRole("textbox", { name: "Arguments" });
  expect(screen.getByRole("alert").textContent).toBe("Line 2, column 7: Expected a colon after the name.");
  expect(field.getAttribute("aria-invalid")).toBe("true");
  await userEvent.clear(field);
  await userEvent.type(field, '{{"a": 1}');
  expect(screen.queryByRole("alert")).toBeNull();
});

test("Tab leaves the field, so that nobody is caught in it", async () => {
  render(<Editor />);
  await userEvent.click(screen.getByRole("textbox"));
  await userEvent.tab();
  expect(screen.getByRole("button", { name: "Format" })).toBe(document.activeElement);
});

test("formatting keeps long numbers as they are", async () => {
  render(<Editor value='{"a":[1,2.50]}' />);
  await userEvent.click(screen.getByRole("button", { name: "Format" }));
  expect(screen.getByRole("textbox")).toHaveProperty("value", '{\n  "a": [\n    1,\n    2.50\n  ]\n}');
});

test("a value that does not fit the schema is told", async () => {
  render(<Editor value='{"to": 1}' schema={{ type: "object", properties: { to: { type: "string" } } }} />);
  await waitFor(() => expect(screen.getByRole("alert").textContent).toContain("to:"));
});

test("an optional text may be empty", () => {
  render(<Editor value="" optional />);
  expect(screen.queryByRole("alert")).toBeNull();
});

test("large values begin folded, and long lists are shown in portions", async () => {
  const { container } = view(JSON.stringify({ many: Array.from({ length: 250 }, (_, at) => at) }));
  expect(container.textContent).toContain("[ 250 entries ]");
  await userEvent.click(screen.getByRole("button", { name: /many/ }));
  expect(container.textContent).toContain("150 more");
  await userEvent.click(screen.getByRole("button", { name: "150 more" }));
  expect(screen.getByRole("button", { name: "50 more" })).toBeTruthy();
});

test("signs that are not seen are shown, and names that could deceive are quoted", () => {
  const { container } = view('{"pay\\u202efdp": "a\\u200bb", "x: 1": true}');
  expect(container.textContent).toContain("a\\u200bb");
  expect(container.textContent).toContain("\\u202e");
  expect(container.textContent).toContain('"x: 1"');
});

test("what is no JSON is text, of which a huge one is cut", async () => {
  const { container } = view("x".repeat(300_000));
  expect(container.querySelector("pre")?.textContent).toHaveLength(200_000);
  await userEvent.click(screen.getByRole("button", { name: /Show all/ }));
  expect(container.querySelector("pre")?.textContent).toHaveLength(300_000);
});
