/** A formula; its source until it is set, or if it cannot be. */
import { type ReactNode, useMemo } from "react";
import { type Lazily, useLazily } from "./lazily";
import { ScrollBox } from "./scroll-box";

const MATHML: Lazily<typeof import("./mathml")> = { load: () => import("./mathml") };

export function Tex({ text, display }: { text: string; display: boolean }): ReactNode {
  const mathml = useLazily(MATHML, true);
  const formula = useMemo(() => mathml?.mathElements(text, display) ?? null, [mathml, text, display]);
  const shown = formula ?? <code className="font-mono text-[0.875em] text-soft">{text}</code>;
  if (!display) return <span className="text-[1.08em]">{shown}</span>;
  return (
    <ScrollBox inline label="Formula" className="my-3 block overflow-x-auto py-1 text-center text-[1.15em]">
      {shown}
    </ScrollBox>
  );
}
