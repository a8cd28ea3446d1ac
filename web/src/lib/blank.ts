/** Whether a text shows nothing: it is empty, or of spaces and invisible characters. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{C}]/u.test(text);
}
