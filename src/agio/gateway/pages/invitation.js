// The page an invitation's link leads to. Its token is behind the #, where no server on the way sees it.

import { request } from "/assets/api.js";
import { checkRepeated, complain, onSend, showProviders } from "/assets/door.js";
import { byId } from "/assets/elements.js";

const token = decodeURIComponent(location.hash.slice(1));
const ROLES = { owner: "an owner", admin: "an admin", member: "a member" };

async function join(given = {}) {
  await request("POST", "/api/invitations/accept", { token, ...given });
  location.replace("/");
}

function showForms(yes) {
  byId("new").hidden = !yes;
  byId("known").hidden = yes;
}

function choose(known) {
  byId("create").hidden = known;
  byId("have").hidden = !known;
  byId("tab-new").setAttribute("aria-selected", String(!known));
  byId("tab-have").setAttribute("aria-selected", String(known));
  complain(null);
}

onSend(byId("create"), async () => {
  checkRepeated(byId("password"), byId("again"));
  await join({ name: byId("name").value, email: byId("email").value, password: byId("password").value });
});
onSend(byId("have"), async () => {
  await request("POST", "/api/sign-in", { email: byId("my-email").value, password: byId("my-password").value });
  await join();
});
byId("tab-new").onclick = () => choose(false);
byId("tab-have").onclick = () => choose(true);
byId("other").onclick = () => showForms(true);
byId("join").onclick = () => join().catch(complain);

async function start() {
  let offer;
  try {
    offer = await request("GET", `/api/invitations/open?token=${encodeURIComponent(token || "-")}`);
  } catch (error) {
    byId("words").textContent = error.message;
    byId("over").hidden = false;
    return;
  }
  byId("heading").textContent = `Join ${offer.team}`;
  byId("words").textContent = `${offer.invited_by} invites you to be ${ROLES[offer.role]} of ${offer.team}.`;
  if (offer.email !== null) {
    byId("email").value = byId("my-email").value = offer.email;
    byId("email").readOnly = true;
  }
  await showProviders({ return_to: "/", invitation: token });
  if (offer.signed_in_as !== null) byId("join").textContent = `Join as ${offer.signed_in_as}`;
  showForms(offer.signed_in_as === null);
}

start().catch(complain);
