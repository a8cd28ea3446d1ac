import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ReactNode, useState } from "react";
import { expect, test } from "vitest";
import { Menu, MenuItem } from "./menu";

function Renamed(): ReactNode {
  const [renaming, setRenaming] = useState(false);
  return (
    <>
      {renaming && <input ref={(input) => input?.focus()} onBlur={() => setRenaming(false)} />}
      <Menu trigger={<button type="button">More</button>}>
        <MenuItem onSelect={() => setRenaming(true)}>Rename</MenuItem>
        <MenuItem>Nothing</MenuItem>
      </Menu>
    </>
  );
}

test("what is chosen keeps the focus it took; otherwise it goes back to the button", async () => {
  render(<Renamed />);
  const button = screen.getByRole("button", { name: "More" });
  button.focus();
  await userEvent.keyboard("{Enter}");
  await userEvent.click(await screen.findByRole("menuitem", { name: "Nothing" }));
  await waitFor(() => expect(document.activeElement).toBe(button));
  await userEvent.keyboard("{Enter}");
  await userEvent.click(await screen.findByRole("menuitem", { name: "Rename" }));
  const input = await screen.findByRole("textbox");
  await waitFor(() => expect(screen.queryByRole("menu")).toBeNull());
  await new Promise((later) => setTimeout(later)); // when a menu gives the focus back
  expect(document.activeElement).toBe(input);
});
