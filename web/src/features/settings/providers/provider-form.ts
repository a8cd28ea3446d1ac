/** What the form of a provider says, and what the server takes. */
import { KINDS, type Kind } from "@/lib/providers";
import type { ConnectionBody, ProviderBody, ProviderView } from "@/protocol/api";

export interface ProviderValues {
  kind: Kind;
  name: string;
  baseUrl: string;
  /** What becomes of a key that is kept already. */
  keyChoice: "keep" | "replace" | "remove";
  apiKey: string;
  /** One a line, or with commas between them. */
  models: string;
}

export interface Preset {
  id: string;
  title: string;
  words: string;
  values: Pick<ProviderValues, "kind" | "name" | "baseUrl">;
}

export const PRESETS: Preset[] = [
  {
    id: "openai",
    title: "OpenAI",
    words: "Needs an API key",
    values: { kind: "openai", name: "openai", baseUrl: "" },
  },
  {
    id: "anthropic",
    title: "Anthropic",
    words: "Needs an API key",
    values: { kind: "anthropic", name: "anthropic", baseUrl: "" },
  },
  {
    id: "gemini",
    title: "Google Gemini",
    words: "Needs an API key",
    values: { kind: "gemini", name: "gemini", baseUrl: "" },
  },
  {
    id: "ollama",
    title: "Ollama (this machine)",
    words: "Port 11434, no key",
    values: { kind: "openai-chat", name: "ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  },
  {
    id: "lm-studio",
    title: "LM Studio (this machine)",
    words: "Port 1234, no key",
    values: { kind: "openai-chat", name: "lm-studio", baseUrl: "http://127.0.0.1:1234/v1" },
  },
  {
    id: "vllm",
    title: "vLLM (this machine)",
    words: "Port 8000, no key",
    values: { kind: "openai-chat", name: "vllm", baseUrl: "http://127.0.0.1:8000/v1" },
  },
];

export const EMPTY: ProviderValues = {
  kind: "openai-chat",
  name: "",
  baseUrl: "",
  keyChoice: "replace",
  apiKey: "",
  models: "",
};

const MODELS = 200;
const MODEL_CHARS = 200;
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const KEY = /^[!-~]+$/;

export function valuesOf(provider: ProviderView): ProviderValues {
  const known = KINDS.find(({ kind }) => kind === provider.kind);
  return {
    kind: known?.kind ?? "openai-chat",
    name: provider.name,
    baseUrl: provider.base_url ?? "",
    keyChoice: provider.has_key ? "keep" : "replace",
    apiKey: "",
    models: provider.models.join("\n"),
  };
}

/** The models' names, each once. */
export function modelsOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split(/[\n,]/)
        .map((name) => name.trim())
        .filter(Boolean),
    ),
  ];
}

/** What a service offers, as it can be chosen: a comma would make two of one. */
export function offeredOf(models: readonly string[] | null | undefined): string[] {
  return (models ?? [])
    .filter((model) => !model.includes(","))
    .sort((one, other) => one.localeCompare(other, undefined, { numeric: true }));
}

/** The models whose names have all these words. */
export function filterModels(models: readonly string[], words: string): string[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return models.filter((model) => wanted.every((word) => model.toLowerCase().includes(word)));
}

/** The text of the models with one more, or without it. */
export function toggleModel(text: string, model: string): string {
  const models = modelsOf(text);
  return (models.includes(model) ? models.filter((one) => one !== model) : [...models, model]).join("\n");
}

export const modelsProblem = (text: string): string | undefined => {
  const models = modelsOf(text);
  if (models.length > MODELS) return `Enter at most ${MODELS} models.`;
  return models.some((model) => model.length > MODEL_CHARS)
    ? `A model name can have at most ${MODEL_CHARS} characters.`
    : undefined;
};

/** A provider as the server takes it: a key that is kept is left out, one that is removed is null. */
export function bodyOf(values: ProviderValues): ProviderBody {
  const { kind, name, keyChoice, models } = values;
  return {
    kind,
    name: name.trim(),
    base_url: values.baseUrl.trim() || null,
    models: modelsOf(models),
    ...(keyChoice === "keep" ? {} : { api_key: keyOf(values) }),
  };
}

/** What is tried before anything is kept. */
export function connectionOf(values: ProviderValues, model: string | null): ConnectionBody {
  return { kind: values.kind, base_url: values.baseUrl.trim() || null, api_key: keyOf(values), model };
}

/** Whether what the form says can be tried with the key that the server keeps. */
export function usesKeptKey(values: ProviderValues, kept: ProviderView | undefined): boolean {
  return Boolean(kept?.has_key) && values.keyChoice === "keep" && !movesKey(values, kept);
}

/** Whether the address changes, so that a kept key must be entered again: it is sent to no other. */
export function movesKey(values: ProviderValues, kept: ProviderView | undefined): boolean {
  if (!kept?.has_key || values.keyChoice !== "keep") return false;
  return placeOf(values.baseUrl.trim(), values.kind) !== placeOf(kept.base_url ?? "", kept.kind);
}

/** Whether the form says the same of the connection as what is kept, so that what is kept can be tried. */
export function isSameConnection(values: ProviderValues, kept: ProviderView | undefined): boolean {
  return usesKeptKey(values, kept) && values.kind === kept?.kind;
}

export const nameProblem = (name: string): string | undefined => {
  if (name.trim() === "") return "Enter a name.";
  if (name === "demo") return "The name demo is reserved for the offline model. Choose another name.";
  return NAME.test(name.trim()) && name.length <= 64
    ? undefined
    : "Use lower-case letters, digits and hyphens, at most 64 characters.";
};

export const keyProblem = (key: string): string | undefined =>
  key.trim() === "" || KEY.test(key.trim())
    ? undefined
    : "A key cannot contain spaces or non-ASCII characters.";

export const urlProblem = (url: string): string | undefined => {
  const plain = url.trim();
  if (plain === "") return undefined;
  if (!/^https?:\/\//i.test(plain) || !URL.canParse(plain))
    return "Enter a URL such as https://api.example.com/v1 or http://127.0.0.1:11434/v1.";
  if (/[?#]/.test(plain)) return "Remove everything after ? or #.";
  return undefined;
};

/** Whether an address is of this machine or its network, which the operator has to allow. */
export function isNearby(url: string): boolean {
  if (!URL.canParse(url.trim())) return false;
  const host = new URL(url.trim()).hostname.replace(/^\[|\]$/g, "");
  return (
    /^(localhost|.*\.(localhost|local|internal|lan|home|home\.arpa)|0\..*|127\..*|10\..*|192\.168\..*|169\.254\..*|172\.(1[6-9]|2\d|3[01])\..*|::1|f[cd].*:.*|fe80:.*)$/.test(
      host,
    ) || !/[.:]/.test(host)
  );
}

function keyOf(values: ProviderValues): string | null {
  return values.keyChoice === "replace" ? values.apiKey.trim() || null : null;
}

/** Whose service a key is for: both OpenAI kinds are one. */
function placeOf(baseUrl: string, kind: string): string {
  return baseUrl || kind.replace(/-chat$/, "");
}
