import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import { ConfirmProvider, type Question, useConfirm } from "./confirm";

let ask: (question: Question) => Promise<boolean> = async () => false;

function Asking(): ReactNode {
  ask = useConfirm();
  return null;
}

test("a question that takes the place of another answers that one with no", async () => {
  render(
    <ConfirmProvider>
      <Asking />
    </ConfirmProvider>,
  );
  const asked: Promise<boolean>[] = [];
  for (const title of ["First?", "Second?"])
    await act(async () => {
      asked.push(ask({ title, message: "It is gone then.", action: "Do it" }));
    });
  expect(await asked[0]).toBe(false);
  expect(screen.getByRole("alertdialog", { name: "Second?" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Do it" }));
  expect(await asked[1]).toBe(true);
});
