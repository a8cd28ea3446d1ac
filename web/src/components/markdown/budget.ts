/** How much of a text is parsed: the time a Markdown parser needs grows with the square of a block's signs. */
import { closing, FENCE } from "./blocks";

/** The most signs in one block. Beyond it, the block is shown as plain text. */
export const BLOCK_SIGNS = 2_500;
/** The most signs in a whole text. Beyond it, the rest of the text is shown as plain text. */
export const TEXT_SIGNS = 12_000;
const LONGEST = 100_000;
/** The parser fills each row of a table up to the widest one. */
const MOST_CELLS = 8_000;
/** The fixed cost of a block, in signs. */
const A_BLOCK = 16;
const MARKER = "(?:>|[-+*](?=[ \\t])|\\d{1,9}[.)](?=[ \\t]))";
/** Quotes and lists in each other: forty in one line, or as far in as forty would be. */
const TOO_DEEP = new RegExp(`^(?:(?:[ \\t]*${MARKER}){40}|(?: {4}|\\t){20}[ \\t]*${MARKER})`, "m");
const SIGN = /[!#$&(*+\-<=>@[\\\]_`|~]|www\.|:\/\//g;

/** A part of a text, and whether it is shown as it is written. */
export interface Piece {
  text: string;
  plain: boolean;
}

/** Decides for each block whether it is parsed. */
export function withinBudget(blocks: readonly string[]): Piece[] {
  const pieces: Piece[] = [];
  let spent = 0;
  for (const [at, text] of blocks.entries()) {
    const cost = costOf(text);
    const plain = cost > BLOCK_SIGNS;
    spent += plain ? A_BLOCK : cost;
    if (spent > TEXT_SIGNS) return [...pieces, { text: blocks.slice(at).join(""), plain: true }];
    pieces.push({ text, plain });
  }
  return pieces;
}

/** What parsing a block costs, in signs; infinite for one that is too long, too deep or too wide. */
export function costOf(block: string): number {
  if (block.length > LONGEST || TOO_DEEP.test(block)) return Number.POSITIVE_INFINITY;
  const lines = afterFence(block.split(/\r\n|\n|\r/));
  let signs = A_BLOCK + lines.length;
  let widest = 0;
  for (const line of lines) {
    signs += line.match(SIGN)?.length ?? 0;
    widest = Math.max(widest, line.split("|").length - 1);
  }
  return widest * lines.length > MOST_CELLS ? Number.POSITIVE_INFINITY : signs;
}

/** Leaves out the code that a block begins with: it is not parsed, however long it is. */
function afterFence(lines: string[]): string[] {
  const opened = FENCE.exec(lines[0] ?? "")?.[2];
  if (!opened) return lines;
  const closes = closing(opened);
  const end = lines.findIndex((line, at) => at > 0 && closes.test(line));
  return end < 0 ? [] : lines.slice(end + 1);
}
