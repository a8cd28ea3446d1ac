/** Whether a text shows nothing: it is empty, of spaces, or of characters that nobody sees. */
export function isBlank(text: string): boolean {
  return !/[^\s\p{C}]/u.test(text);
}
