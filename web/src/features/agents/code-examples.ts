/** How programs use an agent: a request with curl, Python and JavaScript, and the configuration of MCP clients. */

export interface Example {
  id: string;
  title: string;
  /** Where it goes, or what it needs. */
  hint: string;
  code: string;
}

interface Agent {
  id: string;
  name: string;
}

export function requestExamples(origin: string, agent: Agent): Example[] {
  const address = `${origin}/api/agent/run`;
  const body = JSON.stringify({ agent: agent.id, input: "Hello" });
  return [
    {
      id: "curl",
      title: "curl",
      hint: "Waits for the answer. Set AGIO_API_KEY first.",
      code: `curl -s ${address} \\
  -H "Authorization: Bearer $AGIO_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '${body}'`,
    },
    {
      id: "python",
      title: "Python",
      hint: "Needs httpx: pip install httpx",
      code: `import os

import httpx

response = httpx.post(
    "${address}",
    headers={"Authorization": f"Bearer {os.environ['AGIO_API_KEY']}"},
    json={"agent": "${agent.id}", "input": "Hello"},
    timeout=600,
)
response.raise_for_status()
answer = response.json()
print(answer["status"], answer["session_id"])  # send session_id again to continue
print("".join(part["text"] for part in answer["output"] if part["type"] == "text"))`,
    },
    {
      id: "javascript",
      title: "JavaScript",
      hint: "For Node 20 or newer, in a module. Keep the key on a server, not in a web page.",
      code: `const response = await fetch("${address}", {
  method: "POST",
  headers: {
    Authorization: \`Bearer \${process.env.AGIO_API_KEY}\`,
    "Content-Type": "application/json",
  },
  body: JSON.stringify({ agent: "${agent.id}", input: "Hello" }),
});
const answer = await response.json();
if (!response.ok) throw new Error(answer.error.message);
console.log(answer.status, answer.session_id); // send session_id again to continue
console.log(answer.output.filter((part) => part.type === "text").map((part) => part.text).join(""));`,
    },
  ];
}

export function clientExamples(origin: string): Example[] {
  const url = `${origin}/mcp`;
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
  const variable = (name: string) => `\${${name}}`;
  const json = (value: unknown) => JSON.stringify(value, null, 2);
  return [
    {
      id: "claude-code",
      title: "Claude Code",
      hint: ".mcp.json in the project",
      code: json({ mcpServers: { agio: { type: "http", url, headers: bearer(variable("AGIO_API_KEY")) } } }),
    },
    {
      id: "cursor",
      title: "Cursor",
      hint: ".cursor/mcp.json in the project",
      code: json({ mcpServers: { agio: { url, headers: bearer(variable("env:AGIO_API_KEY")) } } }),
    },
    {
      id: "vs-code",
      title: "VS Code",
      hint: ".vscode/mcp.json in the project. It asks for the key once.",
      code: json({
        servers: { agio: { type: "http", url, headers: bearer(variable("input:agio-key")) } },
        inputs: [{ type: "promptString", id: "agio-key", description: "agio API key", password: true }],
      }),
    },
    {
      id: "codex",
      title: "Codex",
      hint: "~/.codex/config.toml",
      code: `[mcp_servers.agio]\nurl = "${url}"\nbearer_token_env_var = "AGIO_API_KEY"`,
    },
  ];
}

const NAME_CHARS = 48;
const ID_CHARS = 6;

/** The tool that an agent is to MCP clients. Of agents with the same tool name, the oldest has the plain one. */
export function toolNameOf(
  agent: Agent & { created_at: number },
  all: readonly (Agent & { created_at: number })[],
): string {
  const plain = plainName(agent.name);
  const first = all.some(
    (other) =>
      other.id !== agent.id &&
      plainName(other.name) === plain &&
      (other.created_at < agent.created_at || (other.created_at === agent.created_at && other.id < agent.id)),
  );
  return first ? `${plain}-${agent.id.slice(-ID_CHARS)}` : plain;
}

function plainName(name: string): string {
  const ascii = name.normalize("NFKD").replace(/\P{ASCII}/gu, "");
  return (
    ascii
      .replace(/[^A-Za-z0-9_-]+/g, "_")
      .slice(0, NAME_CHARS)
      .replace(/^[_-]+|[_-]+$/g, "") || "agent"
  );
}
