// The card that asks a person about a tool call: exactly what would be called; approve, edit or reject.

import { element, pretty } from "/assets/elements.js";

// `decide` is called once, with the answer as the server takes it.
export function approvalCard(question, decide) {
  const given = element("pre", { textContent: pretty(question.arguments) });
  const edited = element("textarea", { rows: 6, value: pretty(question.arguments), hidden: true });
  edited.setAttribute("aria-label", "Arguments");
  const reason = element("textarea", { rows: 2, placeholder: "Why not? The model is told.", hidden: true });
  reason.setAttribute("aria-label", "Reason");
  const problem = element("p", { className: "bad", hidden: true });
  const approve = element("button", { type: "button", className: "primary", textContent: "Approve" });
  const edit = element("button", { type: "button", textContent: "Edit" });
  const reject = element("button", { type: "button", textContent: "Reject" });
  const buttons = element("div", { className: "buttons" }, approve, edit, reject);
  const card = element(
    "section",
    { className: "approval", "aria-label": "Approval" },
    element("strong", { textContent: question.message || `May ${question.tool} be called?` }),
    element("div", { className: "quiet", textContent: question.tool }),
    given,
    edited,
    reason,
    problem,
    buttons,
  );

  const settle = (words, answer) => {
    buttons.replaceWith(element("p", { className: "quiet", textContent: words }));
    edited.disabled = reason.disabled = true;
    problem.hidden = true;
    decide({ interrupt_id: question.id, ...answer });
  };

  approve.onclick = () => {
    if (edited.hidden) return settle("Approved.", { approved: true });
    let args;
    try {
      args = JSON.parse(edited.value);
    } catch {
      args = null;
    }
    if (args === null || typeof args !== "object" || Array.isArray(args)) {
      problem.textContent = "The arguments must be a JSON object.";
      problem.hidden = false;
      return edited.focus();
    }
    return settle("Approved with changed arguments.", { approved: true, edited_args: args });
  };

  edit.onclick = () => {
    given.hidden = !given.hidden;
    edited.hidden = !edited.hidden;
    edit.textContent = edited.hidden ? "Edit" : "Do not edit";
    problem.hidden = true;
    if (!edited.hidden) edited.focus();
  };

  reject.onclick = () => {
    if (reason.hidden) {
      reason.hidden = false;
      reject.textContent = "Reject with this reason";
      return reason.focus();
    }
    const words = reason.value.trim();
    return settle("Rejected.", words ? { approved: false, reason: words } : { approved: false });
  };

  return card;
}
