// Runs oidc-provider on a free port of loopback, under the name that is its argument: its port as one line out, its clients as one JSON line in, "ready"
// out, until stdin ends. Whoever signs in as `ann` is ann@example.com; `unverified-...` has an address nobody verified.

import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

console.warn = console.info = () => {};

const account = (id) => ({
  accountId: id,
  claims: () => ({
    sub: id,
    name: id.charAt(0).toUpperCase() + id.slice(1),
    email: id.includes("@") ? id : `${id}@example.com`,
    email_verified: !id.startsWith("unverified"),
  }),
});

let handle = (_, response) => response.writeHead(503).end();
const server = createServer((request, response) => handle(request, response));
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));

const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const provider = new Provider(`http://${process.argv[2]}:${server.address().port}`, {
    clients: JSON.parse(line),
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    cookies: { keys: ["a key for tests"] },
    features: { devInteractions: { enabled: true } },
    findAccount: (_, id) => account(id),
    ttl: { AccessToken: 600, AuthorizationCode: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  });
  handle = provider.callback();
  process.stdout.write("ready\n");
});
lines.on("close", () => process.exit(0));
