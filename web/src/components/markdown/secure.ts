/** What of a Markdown tree may be shown: known elements with known properties, links that lead out, images that are ours. */
import type { Element, ElementContent, Root } from "hast";

const PROPERTIES: Record<string, string[]> = {
  a: ["href", "title", "id", "dataFootnoteRef", "dataFootnoteBackref", "ariaLabel"],
  blockquote: [],
  br: [],
  code: ["className"],
  del: [],
  em: [],
  h1: [],
  h2: [],
  h3: [],
  h4: [],
  h5: [],
  h6: [],
  hr: [],
  img: ["src", "alt", "title"],
  input: ["type", "checked", "disabled"],
  li: ["className", "id"],
  ol: ["start"],
  p: [],
  pre: [],
  section: ["dataFootnotes"],
  strong: [],
  sup: [],
  table: [],
  tbody: [],
  td: ["align"],
  th: ["align"],
  thead: [],
  tr: [],
  ul: ["className"],
};
const OUTWARD = { target: "_blank", rel: ["noopener", "noreferrer", "nofollow"] };
const OWN_FILE = /^\/api\/files\/[\w-]+\/content$/;
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

/** The address of a link out of here; null for one that must not be followed. */
export function safeLink(url: string): string | null {
  try {
    const { protocol, href } = new URL(url);
    return protocol === "http:" || protocol === "https:" || protocol === "mailto:" ? href : null;
  } catch {
    return null;
  }
}

/** Whether an image can be shown without asking anybody else for it. */
export function isOwnImage(url: string): boolean {
  return OWN_FILE.test(url) || PICTURE.test(url);
}

/** Leaves in a tree only what may be shown; `anchors` is how the names of its own places begin. */
export function secure({ anchors }: { anchors: string }) {
  const clean = (children: ElementContent[], inLink: boolean): ElementContent[] =>
    children.flatMap((child): ElementContent[] => {
      if (child.type === "text") return [child];
      // What is no element is written HTML, which is shown as it is written.
      if (child.type !== "element")
        return "value" in child && child.type !== "comment" ? [text(String(child.value).trimEnd())] : [];
      if (child.tagName === "img") return [image(child, inLink)];
      const kept = PROPERTIES[child.tagName];
      if (!kept) return clean(child.children, inLink);
      const node: Element = {
        ...child,
        properties: Object.fromEntries(
          kept.flatMap((name) =>
            child.properties[name] === undefined ? [] : [[name, child.properties[name]]],
          ),
        ),
        children: clean(child.children, inLink || child.tagName === "a"),
      };
      return child.tagName === "a" ? link(node, anchors, inLink) : [node];
    });
  return (tree: Root): void => {
    tree.children = clean(tree.children as ElementContent[], false).map((child) =>
      child.type === "text" && child.value.trim() ? paragraph(child) : child,
    );
  };
}

function link(node: Element, anchors: string, inLink: boolean): ElementContent[] {
  const url = String(node.properties.href ?? "");
  if (inLink) return node.children;
  if (url.startsWith(`#${anchors}`)) return [node];
  const href = safeLink(url);
  if (href === null) return node.children;
  node.properties = { ...node.properties, href, ...OUTWARD };
  return [node];
}

function image(node: Element, inLink: boolean): ElementContent {
  const { src, alt, title } = node.properties;
  const url = String(src ?? "");
  const words = String(alt || title || "") || "Image";
  if (isOwnImage(url)) return { ...node, properties: { src: url, alt: String(alt ?? "") } };
  const href = safeLink(url);
  if (inLink || href === null) return text(words);
  return { type: "element", tagName: "a", properties: { href, ...OUTWARD }, children: [text(words)] };
}

/** Written HTML that stands between blocks becomes one. */
function paragraph(child: ElementContent): Element {
  return { type: "element", tagName: "p", properties: {}, children: [child] };
}

function text(value: string): ElementContent {
  return { type: "text", value };
}
