// Runs aimock's model server: fixtures as one JSON line in, its port as one line out, until stdin ends.

import { createInterface } from "node:readline";
import { LLMock } from "@copilotkit/aimock";

const lines = createInterface({ input: process.stdin });
let mock;

lines.on("line", async (line) => {
  mock = new LLMock({ port: 0, host: "127.0.0.1", strict: true, chunkSize: 5 });
  mock.addFixturesFromJSON(line);
  await mock.start();
  process.stdout.write(`${mock.port}\n`);
});

lines.on("close", async () => {
  await mock?.stop();
  process.exit(0);
});
