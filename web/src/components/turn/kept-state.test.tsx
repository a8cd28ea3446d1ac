import { act, fireEvent, render, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import { KeptStates, useKeptState } from "./kept-state";

function Row({ name }: { name: string }): ReactNode {
  const [text, setText] = useKeptState(name, "");
  return <input aria-label={name} value={text} onChange={(event) => setText(event.target.value)} />;
}

function Early({ give }: { give: (change: (text: string) => void) => void }): ReactNode {
  give(useKeptState("one", "")[1]);
  return null;
}

function list(names: string[]): ReactNode {
  return (
    <KeptStates>
      {names.map((name) => (
        <Row key={name} name={name} />
      ))}
    </KeptStates>
  );
}

test("what was begun in a row is there again when the row comes back", () => {
  const { rerender } = render(list(["one", "two"]));
  fireEvent.change(screen.getByLabelText("one"), { target: { value: "half a sen" } });
  rerender(list(["two"]));
  rerender(list(["one", "two"]));
  expect(screen.getByLabelText<HTMLInputElement>("one").value).toBe("half a sen");
  expect(screen.getByLabelText<HTMLInputElement>("two").value).toBe("");
});

test("what is changed by a row that left is seen by the one that came back", () => {
  let change: (text: string) => void = () => undefined;
  const { rerender } = render(
    <KeptStates>
      <Early give={(given) => (change = given)} />
    </KeptStates>,
  );
  rerender(list(["one"]));
  act(() => change("told late"));
  expect(screen.getByLabelText<HTMLInputElement>("one").value).toBe("told late");
});

test("without a list around it, it is a state like any other", () => {
  render(<Row name="alone" />);
  fireEvent.change(screen.getByLabelText("alone"), { target: { value: "words" } });
  expect(screen.getByLabelText<HTMLInputElement>("alone").value).toBe("words");
});
