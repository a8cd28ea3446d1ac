/** Shows how programs use an agent, with this server's address, ready to be copied. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Code } from "lucide-react";
import { type ReactNode, useState } from "react";
import { agentsQuery } from "@/api/queries";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/copy-button";
import { Dialog } from "@/components/ui/dialog";
import { Tabs } from "@/components/ui/tabs";
import type { AgentView } from "@/protocol/api";
import { clientExamples, type Example, requestExamples, toolNameOf } from "./code-examples";

export function UseFromCode({ agent }: { agent: AgentView }): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Code className="size-4" aria-hidden />
        Use from code
      </Button>
      <Dialog
        open={open}
        wide
        onClose={() => setOpen(false)}
        title={`Use ${agent.name} from code`}
        description={
          <>
            Programs authenticate with an{" "}
            <Link
              to="/settings/$section"
              params={{ section: "api-keys" }}
              className="text-accent-text underline underline-offset-2"
            >
              API key
            </Link>{" "}
            that may use agents. The examples read it from AGIO_API_KEY.
          </>
        }
      >
        {open && <Ways agent={agent} />}
      </Dialog>
    </>
  );
}

function Ways({ agent }: { agent: AgentView }): ReactNode {
  const { origin } = window.location;
  return (
    <Tabs
      label="Ways to use it"
      tabs={[
        ...requestExamples(origin, agent).map((example) => ({
          id: example.id,
          title: example.title,
          content: <Snippet example={example} />,
        })),
        { id: "mcp", title: "MCP client", content: <McpClients agent={agent} origin={origin} /> },
      ]}
    />
  );
}

function McpClients({ agent, origin }: { agent: AgentView; origin: string }): ReactNode {
  const { data: agents } = useQuery(agentsQuery);
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm text-soft">
        {agent.status === "active" ? (
          <>
            MCP clients have this agent as the tool{" "}
            <code className="font-mono text-[0.8125rem] text-ink wrap-anywhere">
              {toolNameOf(agent, agents ?? [])}
            </code>
            , beside your team's other active agents.
          </>
        ) : (
          "This agent is inactive: MCP clients have it as a tool once it is active."
        )}
      </p>
      {clientExamples(origin).map((example) => (
        <section key={example.id} aria-label={example.title}>
          <h3 className="mb-1 text-sm font-medium">{example.title}</h3>
          <Snippet example={example} />
        </section>
      ))}
    </div>
  );
}

function Snippet({ example: { title, hint, code } }: { example: Example }): ReactNode {
  return (
    <figure className="min-w-0">
      <figcaption className="mb-2 text-[0.8125rem] text-soft wrap-anywhere">{hint}</figcaption>
      <div className="relative">
        <div className="absolute top-1 right-1">
          <CopyButton text={code} label={`Copy: ${title}`} />
        </div>
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard too
          tabIndex={0}
          className="overflow-x-auto rounded-xl bg-panel py-3 pr-11 pl-3.5 font-mono text-xs"
        >
          {code}
        </pre>
      </div>
    </figure>
  );
}
