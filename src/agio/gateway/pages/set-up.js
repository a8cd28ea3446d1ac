// The page after a one-time link: whoever came in with it can make an account now, or later.

import { request } from "/assets/api.js";
import { checkRepeated, onSend } from "/assets/door.js";
import { byId } from "/assets/elements.js";

onSend(byId("set-up"), async () => {
  checkRepeated(byId("password"), byId("again"));
  await request("POST", "/api/account", {
    name: byId("name").value,
    email: byId("email").value,
    password: byId("password").value,
  });
  location.replace("/");
});

byId("name").focus();
