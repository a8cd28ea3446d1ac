// Elements of the page, made in code. Whatever a model or a person wrote goes in as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function complain(error) {
  const note = element("div", { textContent: error.message || String(error) });
  byId("problems").append(note);
  setTimeout(() => note.remove(), 8000);
}

// Pretty where it is JSON, as it is where it is not.
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}
