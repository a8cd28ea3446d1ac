/** The kinds of model providers, complete by type: a kind that the API adds is an error here until it has words. */
import type { ProviderBody } from "@/protocol/api";

export type Kind = ProviderBody["kind"];

const WORDS: Record<Kind, { title: string; words: string; address: string }> = {
  openai: {
    title: "OpenAI (Responses)",
    words: "OpenAI's models, or a proxy for them.",
    address: "https://api.openai.com/v1",
  },
  "openai-chat": {
    title: "OpenAI-compatible",
    words: "Any OpenAI-compatible server.",
    address: "https://api.openai.com/v1",
  },
  anthropic: {
    title: "Anthropic",
    words: "Claude, or a proxy for it.",
    address: "https://api.anthropic.com",
  },
  gemini: {
    title: "Google Gemini",
    words: "Gemini, or a proxy for it.",
    address: "https://generativelanguage.googleapis.com",
  },
};

export const KINDS = (Object.keys(WORDS) as Kind[]).map((kind) => ({ kind, ...WORDS[kind] }));
