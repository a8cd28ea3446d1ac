/** How good a new password is, before the server says its word: the same rules, and a hint beyond them. */
const PASSWORD_MIN_CHARS = 12;
export const PASSWORD_MAX_CHARS = 1024;

const FEWEST_DIFFERENT = 5;
const GOOD_CHARS = 16;

interface Strength {
  /** 0: refused, 1: enough, 2: good, 3: strong. */
  level: 0 | 1 | 2 | 3;
  words: string;
}

/** What is wrong with a new password, in words; nothing if the server would take it as far as we can tell. */
export function passwordProblem(password: string, email = ""): string | undefined {
  const chars = [...password.normalize("NFKC")];
  if (chars.length < PASSWORD_MIN_CHARS)
    return `At least ${PASSWORD_MIN_CHARS} characters: ${PASSWORD_MIN_CHARS - chars.length} more.`;
  if (chars.length > PASSWORD_MAX_CHARS) return `At most ${PASSWORD_MAX_CHARS} characters.`;
  const folded = password.toLowerCase();
  const address = email.trim().toLowerCase();
  if (address && (folded === address || folded === address.split("@")[0]))
    return "It must not be your email address.";
  if (new Set(folded).size < FEWEST_DIFFERENT) return "It repeats the same few characters.";
  return undefined;
}

export function passwordStrength(password: string, email = ""): Strength {
  const problem = passwordProblem(password, email);
  if (problem) return { level: 0, words: problem };
  const kinds = [/[a-z]/, /[A-Z]/, /\d/, /[^A-Za-z0-9]/].filter((kind) => kind.test(password)).length;
  const different = new Set(password).size;
  if (password.length >= GOOD_CHARS + 4 && different >= 10) return { level: 3, words: "Strong." };
  if (password.length >= GOOD_CHARS || (kinds >= 3 && different >= 9))
    return { level: 2, words: "Good. Longer is stronger." };
  return { level: 1, words: "Enough. A few more words make it much stronger." };
}
