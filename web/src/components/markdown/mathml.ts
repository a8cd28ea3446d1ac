/** Sets formulas, as MathML. In a file of its own, which is loaded when there is a formula. */
import katex from "katex";
import { createElement, Fragment, type ReactNode } from "react";

/** What KaTeX builds before it makes markup of it. Its own DOM would bring style attributes, which the page's policy refuses. */
interface Built {
  type?: string;
  text?: string;
  width?: number;
  character?: string;
  attributes?: Record<string, string>;
  children?: Built[];
}

const LONGEST = 20_000;
const OPTIONS = {
  output: "mathml",
  trust: false,
  maxExpand: 500,
  maxSize: 20,
  strict: "ignore",
  errorColor: "currentcolor",
  throwOnError: true,
} as const;
const ELEMENTS = new Set(
  "math mi mn mo ms mtext mspace mrow mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup munder mover munderover mmultiscripts mtable mtr mtd mlabeledtr menclose semantics".split(
    " ",
  ),
);
/** No background: the letters on it have the colour of the theme, and might not be read. */
const ATTRIBUTES = new Set(
  "mathvariant mathcolor mathsize displaystyle scriptlevel stretchy fence separator lspace rspace minsize maxsize width height depth voffset columnalign columnspacing columnlines rowspacing rowlines rowalign columnspan notation accent accentunder linethickness display form symmetric largeop movablelimits side frame framespacing".split(
    " ",
  ),
);
const LENGTHS = new Set(["width", "height", "depth", "lspace", "voffset"]);
const { __renderToDomTree: build } = katex as unknown as {
  __renderToDomTree: (tex: string, options: typeof OPTIONS & { displayMode: boolean }) => Built;
};

/** A formula as elements; null for one that KaTeX does not understand. */
export function mathElements(tex: string, displayMode: boolean): ReactNode {
  if (tex.length > LONGEST) return null;
  try {
    return elementsOf(build(tex, { ...OPTIONS, displayMode }));
  } catch {
    return null;
  }
}

function elementsOf(built: Built): ReactNode {
  if (built.text !== undefined && !built.children) return built.text;
  if (built.character) return createElement("mtext", null, built.character);
  if (built.width !== undefined && !built.children)
    return createElement("mspace", { width: `${built.width}em` });
  const children = (built.children ?? []).map(elementsOf);
  if (built.type === "annotation") return null; // the source, which screen readers would read a second time
  if (!built.type || !ELEMENTS.has(built.type)) return createElement(Fragment, null, ...children);
  const given = Object.entries(built.attributes ?? {}).filter(([name]) => ATTRIBUTES.has(name));
  // Lengths added to a box's own are no longer known to browsers, and would let it overlap.
  const kept = given.some(([, value]) => value.startsWith("+"))
    ? given.filter(([name]) => !LENGTHS.has(name))
    : given;
  return createElement(built.type, Object.fromEntries(kept), ...children);
}
