import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { Menu, MenuItem } from "./menu";

const later = () => new Promise((resolve) => setTimeout(resolve));

test("what was chosen keeps the focus it took, however soon; otherwise it goes back to the button", async () => {
  const write = () => void later().then(() => screen.getByRole("textbox").focus());
  render(
    <>
      <input />
      <Menu trigger={<button type="button">More</button>}>
        <MenuItem onSelect={write}>Rename</MenuItem>
        <MenuItem>Nothing</MenuItem>
      </Menu>
    </>,
  );
  const choose = async (name: string) => {
    await userEvent.click(await screen.findByRole("menuitem", { name }));
    await waitFor(() => expect(screen.queryByRole("menu")).toBeNull());
    await later();
    await later();
  };
  const button = screen.getByRole("button", { name: "More" });
  button.focus();
  await userEvent.keyboard("{Enter}");
  await choose("Nothing");
  await waitFor(() => expect(document.activeElement).toBe(button));
  await userEvent.keyboard("{Enter}");
  await choose("Rename");
  expect(document.activeElement).toBe(screen.getByRole("textbox"));
});
