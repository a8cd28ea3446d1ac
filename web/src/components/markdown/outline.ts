/** The levels of headings: they follow the page's own and leave none out, whichever an answer begins with. */
import type { Element, Root } from "hast";

/** The depths of the headings one is under, from the outermost in. */
export type Outline = readonly number[];

const TOP = 3;
const DEEPEST = 6;
const ATX = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const SETEXT = /^ {0,3}(=+|-+)[ \t]*$/;

/** Goes under a heading of a depth. */
export function under(outline: Outline, depth: number): Outline {
  return [...outline.filter((above) => above < depth), depth];
}

/** What one is under after a block. */
export function outlineAfter(outline: Outline, block: string): Outline {
  if (!/^ {0,3}(?:#|=|-)/m.test(block) || /^ {0,3}(?:```|~~~)/.test(block)) return outline;
  return block.split("\n").reduce((reached, line, at, lines) => {
    const depth = ATX.exec(line)?.[1]?.length;
    if (depth) return under(reached, depth);
    const rule = SETEXT.exec(line)?.[1];
    return rule && lines[at - 1]?.trim() ? under(reached, rule.startsWith("=") ? 1 : 2) : reached;
  }, outline);
}

/** Gives the headings of a tree their levels. */
export function levelHeadings({ outline }: { outline: Outline }) {
  return (tree: Root): void => {
    let reached = outline;
    const visit = (parent: Root | Element): void => {
      for (const child of parent.children) {
        if (child.type !== "element") continue;
        const depth = /^h([1-6])$/.exec(child.tagName)?.[1];
        if (depth) {
          reached = under(reached, Number(depth));
          child.tagName = `h${Math.min(DEEPEST, TOP - 1 + reached.length)}`;
        }
        visit(child);
      }
    };
    visit(tree);
  };
}
