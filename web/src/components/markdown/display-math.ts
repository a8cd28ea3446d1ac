/** A formula that stands alone on its line is shown as one, however it was written. */
import type { Element, ElementContent, Root } from "hast";

export function displayMath() {
  return (tree: Root): void => visit(tree);
}

function visit(parent: Root | Element): void {
  parent.children.forEach((child, at) => {
    if (child.type !== "element") return;
    if (isInlineMath(child) && parent.type === "element" && parent.tagName === "p") {
      const [before, after] = [parent.children[at - 1], parent.children[at + 1]];
      if (endsLine(before) && beginsLine(after))
        child.properties.className = ["language-math", "math-display"];
    }
    visit(child);
  });
}

function isInlineMath(node: Element): boolean {
  return Array.isArray(node.properties.className) && node.properties.className.includes("math-inline");
}

function endsLine(node: ElementContent | undefined): boolean {
  return !node || isBreak(node) || (node.type === "text" && /\n[ \t]*$/.test(node.value));
}

function beginsLine(node: ElementContent | undefined): boolean {
  return !node || isBreak(node) || (node.type === "text" && /^[ \t]*\n/.test(node.value));
}

function isBreak(node: ElementContent): boolean {
  return node.type === "element" && node.tagName === "br";
}
