/** How the operator gives the server a command to start. */
import type { ReactNode } from "react";
import { CopyButton } from "@/components/ui/copy-button";

const EXAMPLE = `[mcp.files]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem@2026.7.10", "/srv/files"]
env_from = ["FILES_TOKEN"]
`;

export function StdioHelp({ open = false }: { open?: boolean }): ReactNode {
  return (
    <details open={open} className="mt-6 rounded-2xl border border-line bg-raised px-5 py-4 text-sm">
      <summary className="cursor-pointer font-semibold">Servers that are a command (stdio)</summary>
      <p className="mt-2 text-soft">
        Only the server administrator adds these, in{" "}
        <code className="font-mono text-[0.8125rem]">agio.toml</code> in the working directory or the data
        folder, and restarts the server. They are listed here, and you decide which of their tools are on.
      </p>
      <div className="relative mt-3">
        <div className="absolute top-1 right-1">
          <CopyButton text={EXAMPLE} label="Copy the agio.toml example" />
        </div>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard too
          tabIndex={0}
          className="overflow-x-auto rounded-xl bg-panel py-3 pr-11 pl-3.5 font-mono text-xs"
        >
          {EXAMPLE}
        </pre>
      </div>
    </details>
  );
}
