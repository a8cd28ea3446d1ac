// What the pages before the door share: a form that is sent once at a time, and buttons to sign in elsewhere.

import { request } from "/assets/api.js";
import { byId, element } from "/assets/elements.js";

export function complain(error) {
  const place = byId("problem");
  place.textContent = error ? error.message : "";
  place.hidden = !error;
}

// Do what a form is for when it is sent; while that goes on it cannot be sent again.
export function onSend(form, action) {
  const button = form.querySelector("button.primary");
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    complain(null);
    try {
      await action();
    } catch (error) {
      complain(error);
    }
    button.disabled = false;
  };
}

// See that a new password was entered twice alike.
export function checkRepeated(password, again) {
  if (password.value !== again.value) throw new Error("The two passwords are not the same.");
}

// The buttons of other places to sign in at, which come back to where one is to go on.
export async function showProviders(given) {
  const methods = await request("GET", "/api/sign-in/methods");
  byId("providers").replaceChildren(
    ...methods.providers.map(({ name, url }) =>
      element("a", {
        className: "button",
        href: `${url}?${new URLSearchParams(given)}`,
        textContent: `Continue with ${name}`,
      }),
    ),
  );
  byId("or").hidden = !methods.password || methods.providers.length === 0;
  return methods;
}
