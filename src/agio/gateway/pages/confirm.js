// Proves again who is signed in, when the server asks for it before a sensitive change.

import { request } from "/assets/api.js";
import { byId } from "/assets/elements.js";

const FRESH_MS = 14 * 60 * 1000; // a little less than the server allows

// Do something; if a fresh proof is needed for it, ask for the password first.
export async function withProof(action) {
  const me = await request("GET", "/api/me");
  const old = me.account !== null && me.authenticated_at !== null && Date.now() - me.authenticated_at > FRESH_MS;
  if (old && !(await prove())) return null;
  try {
    return await action();
  } catch (error) {
    if (error.code !== "reauthentication_required" || !(await prove())) throw error; // the clocks differ
    return action();
  }
}

// Ask until the password is right or the person gives up; whether it was right.
function prove() {
  const dialog = byId("prove");
  const password = byId("prove-password");
  const problem = byId("prove-problem");
  problem.hidden = true;
  password.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "proved");
    byId("prove-cancel").onclick = () => dialog.close();
    byId("prove-form").onsubmit = async (event) => {
      event.preventDefault();
      try {
        await request("POST", "/api/account/confirm", { password: password.value });
        dialog.close("proved");
      } catch (error) {
        problem.textContent = error.code === "wrong_credentials" ? "That is not the password." : error.message;
        password.select();
        problem.hidden = false;
      }
    };
  });
}
