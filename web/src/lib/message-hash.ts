export const MESSAGE_PREFIX = "message-";

/** Where a message is in its chat, for an address. */
export function messageHash(id: string, run: string): string {
  return `${MESSAGE_PREFIX}${id}@${run}`;
}
