/** Colours code. In a file of its own, which is loaded when there is code to colour. */
import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { common, createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const lowlight = createLowlight(common);

/** The code as coloured elements; null for a language it does not know. */
export function highlight(language: string, text: string): ReactNode {
  if (!lowlight.registered(language)) return null;
  return toJsxRuntime(lowlight.highlight(language, text), { Fragment, jsx, jsxs });
}
