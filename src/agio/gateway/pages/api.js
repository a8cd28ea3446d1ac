// The REST routes this page uses. An error has the server's `code` and its sentence as `message`.

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function request(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["content-type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError(0, "unreachable", "The server does not answer.");
  }
  const text = await response.text();
  let answer = null;
  try {
    answer = text ? JSON.parse(text) : null;
  } catch {
    throw new ApiError(response.status, "not_json", `The server answered ${response.status} without JSON.`);
  }
  if (response.ok) return answer;
  const error = answer?.error ?? { code: "unknown", message: `The server answered ${response.status}.` };
  if (error.code === "unauthenticated") {
    sessionStorage.setItem("signed-out", "1"); // elsewhere, or by somebody else: the page to sign in on says so
    location.reload();
  }
  throw new ApiError(response.status, error.code, error.message);
}

const session = (id) => `/api/agent-sessions/${encodeURIComponent(id)}`;

export const api = {
  me: () => request("GET", "/api/me"),
  signOut: () => request("POST", "/sign-out"),
  agents: () => everything("/api/agents?limit=200"),
  sessions: (agentId) => request("GET", `/api/agent-sessions?limit=100&agent_id=${encodeURIComponent(agentId)}`),
  startSession: (agentId) => request("POST", `/api/agents/${encodeURIComponent(agentId)}/sessions`, {}),
  runs: (id) => everything(`/api/runs?limit=200&session_id=${encodeURIComponent(id)}`),
  createKey: (name) => request("POST", "/api/api-keys", { name }),
  deleteSession: (id) => request("DELETE", session(id)),
  status: (id) => request("GET", `${session(id)}/status`),

  // A session with all its messages.
  async session(id) {
    const messages = [];
    for (let after = ""; ; ) {
      const page = await request("GET", session(id) + after);
      messages.push(...page.messages);
      if (page.next === null) return { ...page, messages };
      after = `?after=${encodeURIComponent(page.next)}`;
    }
  },
};

async function everything(path) {
  const items = [];
  for (let after = ""; ; ) {
    const page = await request("GET", path + after);
    items.push(...page.items);
    if (page.next === null) return items;
    after = `&after=${encodeURIComponent(page.next)}`;
  }
}
