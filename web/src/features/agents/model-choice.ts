/** Which providers and models an agent is offered. */
import { KINDS } from "@/lib/providers";
import type { AgentView, ProviderView } from "@/protocol/api";

interface ProviderGroup {
  label: string;
  names: string[];
}

/** The providers in groups; the chosen one is among them even if it is gone. */
export function groupProviders(providers: readonly ProviderView[], chosen: string): ProviderGroup[] {
  const named = (source: ProviderView["source"]) =>
    providers.filter((provider) => provider.source === source).map(({ name }) => name);
  const known = new Set(providers.map(({ name }) => name));
  const others = [...new Set([...KINDS.map(({ kind }): string => kind), chosen])].filter(
    (name) => name && !known.has(name),
  );
  const groups = [
    { label: "Your team", names: named("team") },
    { label: "This server", names: named("operator") },
    { label: "Not connected", names: others },
  ];
  return groups.filter(({ names }) => names.length > 0);
}

/** The models to offer first: those the provider lists, then those other agents use with it. */
export function suggestModels(
  provider: string,
  providers: readonly ProviderView[],
  agents: readonly AgentView[],
): string[] {
  const listed = providers.find(({ name }) => name === provider)?.models ?? [];
  const used = agents
    .filter((agent) => agent.model_provider === provider)
    .map(({ model_name }) => model_name);
  return [...new Set([...(provider === "demo" ? ["demo"] : []), ...listed, ...used])];
}
