/** Colours code. In a file of its own, which is loaded when there is code to colour. */
import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ReactNode } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  python,
  rust,
  shell,
  sql,
  typescript,
  xml,
  yaml,
});

/** Words without any other sign between them: grammars try each of them with all that follow. */
const ENDLESS = /[\w$\s]{1000}/;

/** The code as coloured elements; null for a language it does not know, and for code that would take too long. */
export function highlight(language: string, text: string): ReactNode {
  if (!lowlight.registered(language) || ENDLESS.test(text)) return null;
  try {
    return toJsxRuntime(lowlight.highlight(language, text), { Fragment, jsx, jsxs });
  } catch {
    return null; // nested too deep
  }
}
