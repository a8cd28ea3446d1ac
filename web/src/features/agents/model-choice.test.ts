import { expect, test } from "vitest";
import type { AgentView, ProviderView } from "@/protocol/api";
import { groupProviders, suggestModels } from "./model-choice";

const provider = (name: string, source: ProviderView["source"], models: string[] = []): ProviderView => ({
  id: source === "team" ? `prv_${name}` : null,
  name,
  kind: "openai-chat",
  source,
  base_url: null,
  has_key: source === "team",
  models,
  created_at: null,
  updated_at: null,
});
const PROVIDERS = [provider("acme", "team", ["small", "large"]), provider("demo", "operator")];
const user = (model_provider: string, model_name: string) => ({ model_provider, model_name }) as AgentView;

test("providers come in groups: the team's, the server's, and vendors nobody connected", () => {
  expect(groupProviders(PROVIDERS, "demo")).toEqual([
    { label: "Your team", names: ["acme"] },
    { label: "This server", names: ["demo"] },
    { label: "Not connected", names: ["openai", "openai-chat", "anthropic", "gemini"] },
  ]);
});

test("a provider that was deleted can still be seen on its agent", () => {
  expect(groupProviders(PROVIDERS, "gone").at(-1)?.names).toContain("gone");
  expect(groupProviders([provider("openai", "team")], "openai").at(-1)?.names).not.toContain("openai");
});

test("models are those the provider lists, then those other agents use with it", () => {
  const agents = [user("acme", "tuned"), user("acme", "small"), user("openai", "other")];
  expect(suggestModels("acme", PROVIDERS, agents)).toEqual(["small", "large", "tuned"]);
  expect(suggestModels("demo", PROVIDERS, agents)).toEqual(["demo"]);
  expect(suggestModels("gemini", PROVIDERS, agents)).toEqual([]);
});
