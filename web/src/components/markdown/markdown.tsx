/** Markdown as elements: cut into blocks, of which a growing text parses only the last. No HTML is ever read. */
import "./markdown.css";
import { memo, type ReactNode, useDeferredValue, useId, useMemo, useState } from "react";
import ReactMarkdown, { type Options } from "react-markdown";
import { PlainText } from "@/components/json/plain-text";
import { cx } from "@/lib/class-names";
import { openFence, type Split, splitGrown } from "./blocks";
import { withinBudget } from "./budget";
import { CodeBlock } from "./code-block";
import { displayMath } from "./display-math";
import { ELEMENTS } from "./elements";
import { levelHeadings, type Outline, outlineAfter } from "./outline";
import { PlainOnFailure } from "./plain-on-failure";
import { secure } from "./secure";
import { gfmSyntax, mathSyntax } from "./syntax";
import { texSyntax } from "./tex-syntax";
import { finishBlock } from "./unfinished";

interface MarkdownProps {
  text: string;
  /** More of it is coming. */
  live?: boolean;
}

const REMARK: Options["remarkPlugins"] = [gfmSyntax, texSyntax, mathSyntax];

export const Markdown = memo(function Markdown({ text, live = false }: MarkdownProps): ReactNode {
  // Where words come faster than they can be drawn, some drawings are left out.
  const shown = useDeferredValue(text);
  const blocks = useBlocks(live ? shown : text);
  const pieces = useMemo(() => withinBudget(blocks), [blocks]);
  let outline: Outline = [];
  return (
    <div className={cx("min-w-0 wrap-break-word", live && "growing")}>
      {pieces.map(({ text: block, plain }, at) => {
        const above = outline;
        if (!plain) outline = outlineAfter(outline, block);
        const growing = live && at === pieces.length - 1;
        const fence = growing ? openFence(block) : null;
        // biome-ignore-start lint/suspicious/noArrayIndexKey: a block is known by its place; only the last one changes
        if (fence) return <CodeBlock key={at} language={fence.language} text={fence.text} live />;
        if (plain) return <PlainText key={at} text={block} />;
        const shownBlock = growing ? finishBlock(block) : block;
        return (
          <PlainOnFailure key={at} text={shownBlock}>
            <Block text={shownBlock} outline={above.join()} />
          </PlainOnFailure>
        );
        // biome-ignore-end lint/suspicious/noArrayIndexKey: as above
      })}
    </div>
  );
});

/** The blocks of a text, cut anew only where it has grown. */
function useBlocks(text: string): readonly string[] {
  const [kept] = useState<{ split: Split }>(() => ({ split: { text: "", blocks: [] } }));
  return useMemo(() => {
    kept.split = splitGrown(kept.split, text);
    return kept.split.blocks;
  }, [kept, text]);
}

/** Markdown in one piece. Its outline comes as text, so that the same one is the same. */
export const Block = memo(function Block({ text, outline }: { text: string; outline: string }): ReactNode {
  const anchors = `${useId()}-`;
  const options = useMemo((): Options => {
    const above = outline ? outline.split(",").map(Number) : [];
    return {
      remarkPlugins: REMARK,
      remarkRehypeOptions: {
        clobberPrefix: anchors,
        footnoteLabelTagName: "h6",
        footnoteLabelProperties: {},
      },
      rehypePlugins: [[secure, { anchors }], displayMath, [levelHeadings, { outline: above }]],
      components: ELEMENTS,
      urlTransform: (url) => url, // `secure` has decided about each
    };
  }, [anchors, outline]);
  return <ReactMarkdown {...options}>{text}</ReactMarkdown>;
});
