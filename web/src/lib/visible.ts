/** Text whose every character can be seen, for what a person decides about: nothing hides, turns or pushes away the rest. */

/** Characters without a shape of their own, and those that turn the reading direction; the last one is a blank. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const BLANK_LINES = /\n(?:[^\S\n]*\n){3,}/g;
const SPACES = /[^\S\n]{40,}/g;

/** Escapes the characters that are not seen as JSON does, so that in JSON text the value stays the same. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (sign) => (sign === "\n" || sign === "\t" ? sign : unitsOf(sign)));
}

/** The same, with a count in place of many blank lines or spaces. */
export function visible(text: string): string {
  return escapeUnseen(text)
    .replace(BLANK_LINES, (run) => `\n[${run.split("\n").length - 2} blank lines]\n`)
    .replace(SPACES, (run) => ` [${run.length} spaces] `);
}

function unitsOf(sign: string): string {
  return Array.from({ length: sign.length }, (_, at) => {
    return `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }).join("");
}
