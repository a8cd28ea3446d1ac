/** How each element of an answer looks. */
import type { Element, ElementContent } from "hast";
import { Square, SquareCheck } from "lucide-react";
import type { ReactNode } from "react";
import type { Components } from "react-markdown";
import { CodeBlock } from "./code-block";
import { ScrollBox } from "./scroll-box";
import { Tex } from "./tex";

const HEADING = "mt-6 mb-2 font-semibold tracking-tight text-balance first:mt-0";

export const ELEMENTS: Components = {
  h3: ({ children }) => <h3 className={`${HEADING} text-lg`}>{children}</h3>,
  h4: ({ children }) => <h4 className={`${HEADING} text-base`}>{children}</h4>,
  h5: ({ children }) => <h5 className={`${HEADING} text-[0.9375rem]`}>{children}</h5>,
  h6: ({ children }) => <h6 className={`${HEADING} text-sm`}>{children}</h6>,
  p: ({ children }) => <p className="my-3 first:mt-0 last:mb-0">{children}</p>,
  ul: ({ children, className }) => (
    <ul
      className={
        className?.includes("contains-task-list") ? "my-3 pl-1" : "my-3 list-disc pl-6 marker:text-soft"
      }
    >
      {children}
    </ul>
  ),
  ol: ({ children, start }) => (
    <ol start={start} className="my-3 list-decimal pl-7 marker:text-soft">
      {children}
    </ol>
  ),
  li: ({ children, id }) => (
    <li id={id} className="my-1 pl-1 [&>ol]:my-1 [&>ul]:my-1">
      {children}
    </li>
  ),
  input: ({ checked }) => <TaskMark done={checked === true} />,
  blockquote: ({ children }) => (
    <blockquote className="my-3 border-l-2 border-strong-line/60 pl-4 text-soft">{children}</blockquote>
  ),
  hr: () => <hr className="my-6 border-line" />,
  a: ({ node: _, children, ...link }) => (
    <a
      {...link}
      className="text-accent-text underline decoration-accent/40 underline-offset-2 wrap-anywhere hover:decoration-accent"
    >
      {children}
    </a>
  ),
  img: ({ src, alt }) => (
    <img
      src={src}
      alt={alt ?? ""}
      loading="lazy"
      className="my-3 max-h-96 max-w-full rounded-xl border border-line"
    />
  ),
  table: ({ children }) => (
    <ScrollBox label="Table" className="my-4 overflow-x-auto rounded-xl border border-line">
      <table className="w-full border-collapse text-sm">{children}</table>
    </ScrollBox>
  ),
  thead: ({ children }) => <thead className="bg-panel">{children}</thead>,
  tr: ({ children }) => <tr className="border-line not-last:border-b in-[thead]:border-b">{children}</tr>,
  th: ({ children, style }) => (
    <th scope="col" className="px-3 py-2 text-left font-semibold whitespace-nowrap" style={style}>
      {children}
    </th>
  ),
  td: ({ children, style }) => (
    <td className="px-3 py-2 align-top" style={style}>
      {children}
    </td>
  ),
  pre: ({ node }) => <Pre node={node} />,
  code: ({ node, children }) => {
    const kind = classOf(node);
    if (kind.includes("math-inline") || kind.includes("math-display"))
      return <Tex text={textOf(node).trim()} display={kind.includes("math-display")} />;
    return (
      <code className="rounded-md bg-hover px-1.5 py-0.5 font-mono text-[0.85em] wrap-anywhere">
        {children}
      </code>
    );
  },
};

function Pre({ node }: { node: Element | undefined }): ReactNode {
  const code = node?.children.find((child) => child.type === "element");
  const kind = classOf(code);
  const text = textOf(code);
  if (kind.includes("math-display")) return <Tex text={text.trim()} display />;
  const language = kind.find((name) => name.startsWith("language-"))?.slice("language-".length) ?? "";
  return <CodeBlock language={language} text={text.replace(/\n+$/, "")} />;
}

function TaskMark({ done }: { done: boolean }): ReactNode {
  const Icon = done ? SquareCheck : Square;
  return (
    <Icon
      role="img"
      aria-label={done ? "Done:" : "To do:"}
      className={`mr-2 inline size-4 align-[-0.15em] ${done ? "text-accent-text" : "text-soft"}`}
    />
  );
}

function classOf(node: ElementContent | undefined): string[] {
  const names = node?.type === "element" ? node.properties.className : undefined;
  return Array.isArray(names) ? names.map(String) : [];
}

function textOf(node: ElementContent | undefined): string {
  if (node?.type === "text") return node.value;
  return node?.type === "element" ? node.children.map(textOf).join("") : "";
}
