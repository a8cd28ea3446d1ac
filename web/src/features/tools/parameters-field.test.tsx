import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { type ReactNode, useState } from "react";
import { expect, test, vi } from "vitest";
import { writeJson } from "@/lib/json";
import { ParametersField } from "./parameters-field";

const told = vi.fn<(text: string, problem?: string) => void>();
const last = () => JSON.parse(told.mock.lastCall?.[0] ?? "null");

function Fields({ start }: { start: object }): ReactNode {
  const [text, setText] = useState(writeJson(start));
  const change = (next: string, problem?: string) => {
    told(next, problem);
    setText(next);
  };
  return (
    <Tooltip.Provider>
      <ParametersField value={text} onChange={change} />
    </Tooltip.Provider>
  );
}

test("a parameter added in the table is in the schema once it has a name", async () => {
  const user = userEvent.setup();
  render(<Fields start={{ type: "object", properties: {}, additionalProperties: false }} />);
  await user.click(screen.getByRole("button", { name: "Add parameter" }));
  expect(told).toHaveBeenLastCalledWith(expect.anything(), "Enter a name.");
  await user.type(screen.getByLabelText("Name of parameter 1"), "size");
  await user.selectOptions(screen.getByLabelText("Type of parameter 1"), "integer");
  await user.type(screen.getByLabelText("Allowed values of parameter 1"), "1,2");
  expect(told.mock.lastCall?.[1]).toBeUndefined();
  expect(last()).toEqual({
    type: "object",
    properties: { size: { type: "integer", enum: [1, 2] } },
    required: ["size"],
    additionalProperties: false,
  });
});

test("what is written as JSON is in the table, and JSON that is none says so there", async () => {
  const user = userEvent.setup();
  render(<Fields start={{ type: "object", properties: {} }} />);
  await user.click(screen.getByRole("tab", { name: "JSON" }));
  const written = writeJson({ type: "object", properties: { city: { type: "string", minLength: 1 } } });
  fireEvent.change(screen.getByLabelText("JSON schema"), { target: { value: written } });
  await user.click(screen.getByRole("tab", { name: "Table" }));
  expect(screen.getByLabelText("Name of parameter 1")).toHaveProperty("value", "city");
  await user.click(screen.getByLabelText("Required of parameter 1"));
  expect(last()).toEqual({
    type: "object",
    properties: { city: { type: "string", minLength: 1 } },
    required: ["city"],
  });
  await user.click(screen.getByRole("tab", { name: "JSON" }));
  fireEvent.change(screen.getByLabelText("JSON schema"), { target: { value: "{" } });
  await user.click(screen.getByRole("tab", { name: "Table" }));
  expect(screen.getByRole("alert").textContent).toContain("invalid");
});

test("two parameters of one name are told, and neither is lost when one is renamed", async () => {
  const user = userEvent.setup();
  const start = { type: "object", properties: { a: { type: "number" }, ab: { type: "boolean" } } };
  render(<Fields start={start} />);
  const second = screen.getByLabelText("Name of parameter 2");
  await user.type(second, "{Backspace}");
  expect(told.mock.lastCall?.[1]).toBe("The name a is already used.");
  await user.type(second, "c");
  expect(last().properties).toEqual({ a: { type: "number" }, ac: { type: "boolean" } });
});
