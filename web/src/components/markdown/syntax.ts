/** Tables, links and formulas, for reading alone: the plugins made of these would bring how to write them too. */
import { gfmFromMarkdown } from "mdast-util-gfm";
import { mathFromMarkdown } from "mdast-util-math";
import { gfm } from "micromark-extension-gfm";
import { math } from "micromark-extension-math";
import type {} from "remark-parse";
import type { Processor } from "unified";

/** GitHub's tables, task lists, strikethrough, footnotes and bare links. */
export function gfmSyntax(this: Processor): void {
  const data = this.data();
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), gfm()];
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), gfmFromMarkdown()];
}

/** Formulas between $$; a single $ is `tex-syntax`'s. */
export function mathSyntax(this: Processor): void {
  const data = this.data();
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), math({ singleDollarTextMath: false })];
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), mathFromMarkdown()];
}
