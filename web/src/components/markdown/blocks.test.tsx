import { render } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { expect, test } from "vitest";
import { openFence, type Split, splitBlocks, splitGrown } from "./blocks";
import { Block, Markdown } from "./markdown";
import { finishBlock } from "./unfinished";

const SAMPLES: Record<string, string> = {
  paragraphs: "One\ntwo\n\nThree\n\n\n\nFour",
  "line ends of Windows": "One\r\n\r\nTwo\r\n\r\n- a\r\n\r\n- b\r\n\r\nThree",
  headings: "# A\n\ntext\n\n### B\ntext\n\nC\n===\n\nD\n---\n\n## E",
  "nested lists": "- a\n  - b\n    - c\n\n      more of c\n\n  - d\n- e\n\nafter",
  "loose lists": "1. a\n\n2. b\n\n   more\n\n3. c\n\nafter\n\n- x\n\n* y",
  "a list with lazy lines": "- a\nlazy\n\n- b\n\nafter",
  "a list right after a paragraph": "text\n- a\n- b\n\n1) x\n2) y",
  blockquotes: "> a\n> b\n\n> c\n\n> - d\n>\n>   e\nlazy\n\nafter",
  "a fence": "```js\nlet a;\n\n# no heading\n\n- no item\n```\n\nafter",
  "a fence with a longer end": "````\n```\n\nstill\n\n```\n`````\n\nafter",
  "a fence of tildes": "~~~ py ~~~\na\n\n```\n\nb\n~~~\n\nafter",
  "a fence without an end": "text\n\n```\na\n\nb",
  "a fence in a list": "- a\n\n  ```js\n  x\n\n  y\n  ```\n\n- b\n\nafter\n\n```\nc\n\nd\n```",
  "a fence that begins an item": "- ```js\n  x\n\n  y\n  ```\n\nafter\n\n```\nc\n\nd\n```\n\nend",
  "a fence in a list without an end": "1. a\n   ```\n   x\n\nafter\n\nmore",
  "a fence right after a list": "- a\n```\nx\n\ny\n```\n\n- b",
  "a fence in a quote": "> ```\n> a\n\nb\n\n> c\n```\nd\n\ne\n```\n\nf",
  "indented code": "text\n\n    a\n\n    b\n\nafter\n\n\ta\n\n\tb",
  tables: "| a | b |\n| - | :-: |\n| 1 | 2 |\n\nafter | no\n\n| c |\n|---|\n| d |\ntext",
  "display math": "$$\na\n\nb\n$$\n\nafter\n\n$$x$$\n\n\\[\nc\n\\]\n\nend",
  "math in a list": "- a\n  $$\n  x\n\n  y\n  $$\n\nafter",
  "html comments": "<!-- a\n\nb -->\n\nafter\n\n<!-- c -->\n\n<!--> d\n\ne",
  "html blocks":
    "<div>\na\n\nb\n</div>\n\n<pre>\na\n\nb\n</pre>\n\n<script>\n\nx</script>\n\n<?a\n\nb?>\n\n<!A\n\nb>\n\n<![CDATA[\n\na]]>\n\nend",
  "rules between": "a\n\n---\n\nb\n\n***\n\n- - -\n\nc",
  "task lists": "- [ ] a\n- [x] b\n\n  c\n\nafter",
  definitions: "See [a] and [b][c].\n\ntext\n\n[a]: https://a.example\n\n> [c]: https://c.example",
  footnotes: "Text[^1].\n\nMore.\n\n[^1]: A note.\n\n    Its second paragraph.",
  "blank beginnings": "\n\n  \n text\n\n\ttab\n\nend\n\n",
  nothing: "",
};

const html = (children: React.ReactNode): string => {
  const { container, unmount } = render(<Tooltip.Provider>{children}</Tooltip.Provider>);
  const box = document.createElement("div");
  for (const node of container.querySelectorAll("[data-whole] > *, .wrap-break-word > *"))
    box.append(node.cloneNode(true));
  unmount();
  // The names of places in the page differ from one rendering to the next.
  return box.innerHTML.replace(/_r_\w+_/g, "").replace(/ data-state="\w+"/g, "");
};
const whole = (text: string): string =>
  html(
    <div data-whole>
      <Block text={text} outline="" />
    </div>,
  );

test.each(Object.entries(SAMPLES))("%s look the same in blocks as in one piece", (_, text) => {
  expect(splitBlocks(text).join("")).toBe(text);
  expect(html(<Markdown text={text} />)).toBe(whole(text));
});

test.each(Object.entries(SAMPLES))("%s are cut the same as they grow", (_, text) => {
  let split: Split = { text: "", blocks: [] };
  for (let length = 1; length <= text.length; length++) {
    split = splitGrown(split, text.slice(0, length));
    expect(split.blocks).toEqual(splitBlocks(text.slice(0, length)));
  }
  expect(splitGrown(split, "another\n\ntext").blocks).toEqual(["another\n\n", "text"]);
});

test("a text of many kinds is cut into many blocks, one with definitions into none", () => {
  expect(splitBlocks("a\n\nb\n\n- c\n\n- d\n\ne").map((block) => block.trim())).toEqual([
    "a",
    "b",
    "- c\n\n- d",
    "e",
  ]);
  expect(splitBlocks(SAMPLES.definitions ?? "")).toHaveLength(1);
});

test("pieces put together at random look the same in blocks as in one piece", () => {
  const pieces = [
    "text",
    "",
    "",
    "",
    "- item",
    "  - inner",
    "   deep",
    "1. one",
    "10) ten",
    "```",
    "   ```",
    "  ```",
    "- ```",
    "~~~",
    "> quote",
    "> ```",
    "    code",
    "\ttab",
    "# head",
    "---",
    "===",
    "| a | b |",
    "|---|---|",
    "$$",
    "  $$",
    "- $$",
    "$$ x",
    "<!--",
    "-->",
    "<div>",
    "<pre>",
    "</pre>",
    "* * *",
    "+",
    "-",
    "`a",
    "\\[",
    "\\]",
    " <!-- x",
    "- <!-- x",
    "```js",
    "````",
  ];
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
  for (let round = 0; round < 120; round++) {
    const text = Array.from({ length: 3 + random(12) }, () => pieces[random(pieces.length)]).join("\n");
    expect(splitBlocks(text).join("")).toBe(text);
    expect(html(<Markdown text={text} />), JSON.stringify(text)).toBe(whole(text));
  }
}, 120_000);

test("a fence that is still open is known with its language", () => {
  expect(openFence("```js\nlet a\n\nb")).toEqual({ language: "js", text: "let a\n\nb" });
  expect(openFence("~~~\n")).toEqual({ language: "", text: "" });
  expect(openFence("```js\na\n```\n")).toBeNull();
  expect(openFence("```j")).toBeNull();
  expect(openFence("text")).toBeNull();
});

test.each([
  ["some **bold", "some **bold**"],
  ["some **bold*", "some **bold**"],
  ["some **", "some "],
  ["a [link](https://exam", "a link"],
  ["a [link", "a link"],
  ["a `code", "a `code`"],
  ["| a | b |\n", ""],
  ["| a | b |\n|--", ""],
  ["| a | b |\n|---|---|\n| 1", "| a | b |\n|---|---|\n| 1"],
  ["done. ", "done. "],
  ["a * b", "a * b"],
])("while it is written, %j is shown as %j", (text, shown) => {
  expect(finishBlock(text)).toBe(shown);
});

test("of a growing text only the last block is drawn again", () => {
  const view = (text: string) => (
    <Tooltip.Provider>
      <Markdown text={text} live />
    </Tooltip.Provider>
  );
  const { container, rerender } = render(view("one\n\ntwo\n\nthr"));
  const first = container.querySelector("p");
  rerender(view("one\n\ntwo\n\nthree **go"));
  expect(container.querySelector("p")).toBe(first);
  expect(container.textContent).toBe("onetwothree go");
});
