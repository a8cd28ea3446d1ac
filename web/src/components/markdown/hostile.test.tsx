import { render, waitFor } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { expect, test } from "vitest";
import { Markdown } from "./markdown";
import { mathElements } from "./mathml";
import { isOwnImage, safeLink } from "./secure";

const HOSTILE = [
  "[a](javascript:alert(1))",
  "[a](JaVaScRiPt:alert(1))",
  "[a](java\tscript:alert(1))",
  "[a](<java\nscript:alert(1)>)",
  "[a](&#106;avascript:alert(1))",
  "[a](&#x6A;&#x61;&#x76;&#x61;script&colon;alert(1))",
  "[a](javascript&Tab;:alert(1))",
  "[a](\u0001javascript:alert(1))",
  "[a](  javascript:alert(1)  )",
  "[a](vbscript:msgbox(1))",
  "[a](data:text/html,<script>alert(1)</script>)",
  "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[a](DATA:image/svg+xml,<svg/onload=alert(1)>)",
  "[a](blob:https://a.example/1)",
  "[a](file:///etc/passwd)",
  "[a](//evil.example)",
  "[a](/sign-out)",
  "[a](../../api/me)",
  "[a](#message-1)",
  '[a](https://a.example "x\\" onmouseover=\\"alert(1)")',
  "[a](https://a.example 'x' onclick=alert(1))",
  "[a]\n\n[a]: javascript:alert(1)",
  '[a]\n\n[a]: https://a.example "\\" onfocus=alert(1) autofocus"',
  "<javascript:alert(1)>",
  "<data:text/html,x>",
  '<https://a.example/"onclick=alert(1)>',
  "javascript:alert(1) www.javascript:alert(1)",
  "https://a.example/<script>alert(1)</script>",
  "![a](javascript:alert(1))",
  "![a](https://evil.example/pixel.png)",
  "![a](//evil.example/pixel.png)",
  "![a](data:image/svg+xml;base64,PHN2Zy8+)",
  "![a](data:image/png,<svg onload=alert(1)>)",
  "![a](data:text/html;base64,AAAA)",
  "![a](/api/files/../me/content)",
  "![a](/api/files/f1/content?x=https://evil.example)",
  "![a](/sign-out)",
  '![a" onerror="alert(1)](x)',
  "[![a](https://evil.example/p.png)](javascript:alert(1))",
  "[![a](javascript:alert(1))](https://a.example)",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "<svg><script>alert(1)</script></svg>",
  "<script>alert(1)</script>",
  "<iframe src=javascript:alert(1)></iframe>",
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "<object data=javascript:alert(1)></object><embed src=x>",
  '<a href="javascript:alert(1)">a</a>',
  '<form action="https://evil.example"><input name=password></form>',
  "<style>*{background:url(https://evil.example)}</style>",
  '<link rel=stylesheet href="https://evil.example">',
  '<meta http-equiv=refresh content="0;url=https://evil.example">',
  '<base href="https://evil.example/">',
  "<!-- --!><img src=x onerror=alert(1)> -->",
  "<!--><img src=x onerror=alert(1)>-->",
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  "<details open ontoggle=alert(1)>",
  "<div style='background:url(javascript:alert(1))'>",
  "<body onload=alert(1)>",
  "| <img src=x onerror=alert(1)> |\n|---|\n| [a](javascript:alert(1)) |",
  "- [ ] <input onfocus=alert(1) autofocus>",
  "```<img src=x onerror=alert(1)>\n<script>alert(1)</script>\n```",
  "```js onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
  "`<img src=x onerror=alert(1)>`",
  "x[^1]\n\n[^1]: <img src=x onerror=alert(1)> [a](javascript:alert(1))",
  '[^"onclick="alert(1)]\n\n[^"onclick="alert(1)]: x',
  "$$\\href{javascript:alert(1)}{x}$$",
  "$$\\url{javascript:alert(1)}$$",
  "$$\\includegraphics{https://evil.example/p.png}$$",
  "$$\\htmlStyle{background:url(https://evil.example)}{x}$$",
  "$$\\htmlData{onclick=alert(1)}{x}\\htmlId{root}{x}\\htmlClass{fixed}{x}$$",
  "$$\\text{<img src=x onerror=alert(1)>}$$",
  "$$\\color{red;background:url(https://evil.example)}x$$",
  "$$\\fcolorbox{red}{blue}{x}$$",
  "$$\n\\def\\a{\\a\\a}\\a\n$$",
];

const ELEMENTS = new Set(
  (
    "div p a span ul ol li h3 h4 h5 h6 em strong del code pre table thead tbody tr th td blockquote hr br sup section img " +
    "button svg path rect circle line polyline math semantics mrow mi mn mo mtext mspace mstyle mpadded menclose mfrac merror"
  ).split(" "),
);
const HTTP = /^(?:https?|mailto):/;

function inspect(container: HTMLElement, text: string): void {
  for (const element of container.querySelectorAll("*")) {
    const tag = element.tagName.toLowerCase();
    expect(ELEMENTS, `${tag} of ${text}`).toContain(tag);
    for (const { name, value } of element.attributes) {
      expect(name, text).not.toMatch(/^on|^srcdoc$|^xlink|^formaction$|^action$/i);
      if (name === "style") expect(value, text).toMatch(/^text-align: \w+;?$/);
      if (name === "id") expect(element.tagName, text).toMatch(/^(?:A|LI)$/);
      if (name === "href") {
        if (element.getAttribute("target") !== "_blank") expect(value, text).toMatch(/^#_r_\w+_-fn/);
        else {
          expect(value, text).toMatch(HTTP);
          expect(element.getAttribute("rel"), text).toBe("noopener noreferrer nofollow");
        }
      }
      if (name === "src") expect(isOwnImage(value), text).toBe(true);
    }
  }
}

test.each(HOSTILE)("%j does no harm", async (text) => {
  const view = (live: boolean) => (
    <Tooltip.Provider>
      <Markdown text={text} live={live} />
    </Tooltip.Provider>
  );
  const { container, rerender } = render(view(true));
  inspect(container, text);
  rerender(view(false));
  if (text.startsWith("$$")) await import("./mathml");
  await waitFor(() => inspect(container, text));
});

test("links that lead out are followed, the rest is text", () => {
  expect(safeLink("https://a.example/x")).toBe("https://a.example/x");
  expect(safeLink("mailto:a@b.example")).toBe("mailto:a@b.example");
  for (const url of ["", "x", "/x", "//x", "javascript:1", "ftp://x", "data:,x", "about:blank"])
    expect(safeLink(url)).toBeNull();
});

test("formulas are set without styles, and what cannot be set is left as it is", () => {
  const { container } = render(
    mathElements("\\colorbox{red}{x} \\color{blue} \\frac{a}{b} \\fcolorbox{red}{blue}{y}", true),
  );
  expect(container.querySelector("mfrac")).not.toBeNull();
  expect(container.querySelector("[style], [class], annotation")).toBeNull();
  expect(mathElements("\\frac{", true)).toBeNull();
  expect(mathElements("\\def\\a{\\a\\a}\\a", true)).toBeNull();
  expect(mathElements("{".repeat(19_000), true)).toBeNull();
});

test.each([
  ["It costs $5 and $6.", 0],
  ["Pay $20 now or 30$ later, US$ 5, $HOME:$PATH, \u0024{a}-\u0024{b}", 0],
  ["$1,000 to $2,000 and A$3-$4", 0],
  ["Let $x$ be $x^2 + 1$, $\\alpha$ and $n$-th.", 4],
  ["Let \\(x\\) be \\(a_1 \\cdot b\\).", 2],
  ["\\[x = 1\\]", 1],
  ["So:\n\\[\nx = 1\n\\]\nthen", 1],
  ["an \\[optional\\] part", 0],
  ["inline $$x$$ here", 1],
  ["`$x$` and \\$5 and \\$6", 0],
])("%j has so many formulas: %i", async (text, count) => {
  await import("./mathml");
  const { container } = render(<Markdown text={text} />);
  await waitFor(() => expect(container.querySelectorAll("math")).toHaveLength(count));
});

test("headings follow the page's own and leave no level out", () => {
  const { container } = render(<Markdown text={"### A\n\n# B\n\n#### C\n\n###### D\n\n## E\n\n###### F"} />);
  const levels = [...container.querySelectorAll("h1,h2,h3,h4,h5,h6")].map(({ tagName }) => tagName);
  expect(levels).toEqual(["H3", "H3", "H4", "H5", "H4", "H5"]);
});

test("only our own pictures are shown; one from elsewhere is a link", () => {
  const text =
    "![a](/api/files/file_1/content) ![b](data:image/png;base64,iVBORw0KGgo=) ![c](https://a.example/p.png)";
  const { container } = render(<Markdown text={text} />);
  expect(container.querySelectorAll("img")).toHaveLength(2);
  expect(container.querySelector("a")?.textContent).toBe("c");
});

test.each([
  ["quotes", ">".repeat(20_000)],
  ["lists", "+ ".repeat(5_000)],
  ["mixed", "- > 1. ".repeat(3_000)],
  ["length", "word ".repeat(50_000)],
])("too much of %s is shown as it is written", (_, text) => {
  const { container } = render(<Markdown text={text} />);
  expect(container.querySelector("pre")?.textContent).toBe(text.slice(0, 200_000));
  expect(container.querySelector("blockquote, li")).toBeNull();
});

test("brackets that nothing closes are looked for once", () => {
  const { container } = render(<Markdown text={"\\(a ".repeat(20_000)} />);
  expect(container.querySelector("code, math")).toBeNull();
});
