// The page for whoever is not signed in: e-mail and password, or somewhere else.

import { request } from "/assets/api.js";
import { complain, onSend, showProviders } from "/assets/door.js";
import { byId } from "/assets/elements.js";

onSend(byId("sign-in"), async () => {
  await request("POST", "/api/sign-in", { email: byId("email").value, password: byId("password").value });
  if (location.pathname === "/") location.reload();
  else location.replace("/");
});

// Why one is here, if one meant to be elsewhere.
function showReason() {
  const wasSignedOut = sessionStorage.getItem("signed-out") !== null;
  sessionStorage.removeItem("signed-out");
  if (wasSignedOut) byId("notice").textContent = "You were signed out.";
  byId("notice").hidden = !wasSignedOut && location.pathname === "/sign-in";
}

async function start() {
  showReason();
  const methods = await showProviders({ return_to: "/" });
  byId("sign-in").hidden = !methods.password;
  byId("first").hidden = methods.password || methods.providers.length > 0;
  if (methods.password) byId("email").focus();
}

start().catch(complain);
