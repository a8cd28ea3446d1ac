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

// Laid out where that is JSON and changes nothing of it (a large number or a doubled key would change).
// Characters that turn or hide text are spelled out.
export function pretty(text) {
  let shown = text;
  try {
    const value = JSON.parse(text);
    const compact = text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_, string) => string ?? "");
    if (typeof value === "object" && JSON.stringify(value) === compact) shown = JSON.stringify(value, null, 2);
  } catch {
    // not JSON: as it is
  }
  return shown.replace(
    /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (hidden) => `\\u${hidden.codePointAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");
}
