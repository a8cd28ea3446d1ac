/** Cuts Markdown into blocks that can be parsed one by one, so that a growing text is parsed only at its end. */

const LINE = /[^\r\n]*(?:\r\n|\n|\r|$)/y;
const BLANK = /^[ \t]*[\r\n]*$/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|[\r\n]*$)/;
export const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})/;
const MATH = /^( {0,3})(\${2,})[^$]*$/;
/** HTML that goes on over blank lines, and how each kind ends. */
const HTML: [RegExp, RegExp][] = [
  [/^( {0,3})<(?:script|pre|style|textarea)(?:[\s>]|$)/i, /<\/(?:script|pre|style|textarea)>/i],
  [/^( {0,3})<!--/, /-->/],
  [/^( {0,3})<\?/, /\?>/],
  [/^( {0,3})<![A-Za-z]/, />/],
  [/^( {0,3})<!\[CDATA\[/, /\]\]>/],
];
const NEVER = /(?!)/;
/** A definition that another place of the text refers to: such a text is not cut at all. */
const DEFINITION = /^(?:[ \t>]|[-+*][ \t]|\d{1,9}[.)][ \t])*\[(?:[^\]\\]|\\[\s\S]){1,999}\]:/m;

/** Cuts a text at blank lines outside of lists, fences and other blocks that go on over them. Joined, they are the text. */
export function splitBlocks(text: string): string[] {
  if (DEFINITION.test(text)) return [text];
  const scanner = new Scanner();
  const blocks: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; ) {
    LINE.lastIndex = at;
    const line = LINE.exec(text)?.[0] ?? "";
    if (scanner.beginsBlock(line)) {
      if (at > start) blocks.push(text.slice(start, at));
      start = at;
    }
    at += line.length;
  }
  if (start < text.length) blocks.push(text.slice(start));
  return blocks;
}

/** A text and its blocks. */
export interface Split {
  text: string;
  blocks: readonly string[];
}

/** Cuts a text that may have grown since: what cannot have changed is not looked at again. */
export function splitGrown(before: Split, text: string): Split {
  // The last line may have been half a line, which now joins what stands before it.
  const kept = text.startsWith(before.text) ? before.blocks.slice(0, -2) : [];
  const start = kept.reduce((length, block) => length + block.length, 0);
  const rest = text.slice(start);
  return { text, blocks: DEFINITION.test(rest) ? [text] : [...kept, ...splitBlocks(rest)] };
}

/** The code of a block that is one fence without an end, as it is while it is being written. */
export function openFence(block: string): { language: string; text: string } | null {
  const lines = block.replace(/^(?:[ \t]*\n)+/, "").split("\n");
  const opened = FENCE.exec(lines[0] ?? "");
  if (!opened || opened[1] || lines.length < 2) return null;
  const closes = closing(opened[2] ?? "");
  if (lines.slice(1).some((line) => closes.test(line))) return null;
  const language = /^[`~]+[ \t]*([^\s`]*)/.exec(lines[0] ?? "")?.[1] ?? "";
  return { language, text: lines.slice(1).join("\n") };
}

class Scanner {
  private begun = false;
  private afterBlank = false;
  /** Where the content of the list's newest item begins; null outside of lists. */
  private item: number | null = null;
  /** A line stood before where the item's content begins: whether the item still goes on, only a parser knows. */
  private doubtful = false;
  private until: RegExp | null = null;

  /** Takes the next line, and says whether a new block begins with it. */
  beginsBlock(line: string): boolean {
    if (this.until) {
      if (this.until.test(line)) this.until = null;
      this.afterBlank = false;
      return false;
    }
    if (BLANK.test(line)) {
      this.afterBlank = true;
      return false;
    }
    const item = ITEM.exec(line);
    const indented = line.startsWith(" ") || line.startsWith("\t");
    const begins = !this.begun || (this.afterBlank && !indented && !(this.item !== null && item));
    if (begins) this.item = null;
    if (begins || item) this.doubtful = false;
    this.begun = true;
    this.afterBlank = false;
    if (item && (this.item === null || (item[1]?.length ?? 0) < this.item)) this.item = contentOf(item);
    else if (this.item !== null && indentOf(line) < this.item) this.doubtful = true;
    this.open(line);
    return begins;
  }

  /** Notices what goes on over blank lines; what is inside of an item ends with it. */
  private open(line: string): void {
    const bare = line.replace(/[\r\n]+$/, "");
    const closes = closingOf(bare);
    if (!closes) return;
    if (this.item === null || indentOf(bare) < this.item) this.until = closes;
    else if (this.doubtful) this.until = NEVER;
  }
}

/** How the block ends that a line opens; null if it opens none that goes on over blank lines. */
function closingOf(line: string): RegExp | null {
  const fence = FENCE.exec(line) ?? MATH.exec(line);
  if (fence) return closing(fence[2] ?? "");
  for (const [opens, closes] of HTML) {
    const found = opens.exec(line);
    if (!found) continue;
    // The dashes that open a comment may close it, too.
    const rest = line.slice(
      line.startsWith("<!--", found[1]?.length) ? found[0].length - 2 : found[0].length,
    );
    return closes.test(rest) ? null : closes;
  }
  return null;
}

function indentOf(line: string): number {
  const space = /^[ \t]*/.exec(line)?.[0] ?? "";
  return space.includes("\t") ? 4 : space.length;
}

function contentOf(item: RegExpExecArray): number {
  const [, indent = "", marker = "", gap = ""] = item;
  const spaces = /^ {1,4}$/.test(gap) ? gap.length : 1;
  return indent.length + marker.length + spaces;
}

export function closing(marker: string): RegExp {
  const sign = marker.startsWith("$") ? "\\$" : marker.charAt(0);
  return new RegExp(`^ {0,3}${sign}{${marker.length},}[ \\t]*[\\r\\n]*$`);
}
