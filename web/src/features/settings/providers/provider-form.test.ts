import { expect, test } from "vitest";
import type { ProviderView } from "@/protocol/api";
import {
  bodyOf,
  connectionOf,
  EMPTY,
  filterModels,
  isNearby,
  isSameConnection,
  keyProblem,
  modelsOf,
  modelsProblem,
  movesKey,
  nameProblem,
  offeredOf,
  toggleModel,
  urlProblem,
  valuesOf,
} from "./provider-form";

const KEPT: ProviderView = {
  id: "prv_1",
  name: "acme",
  kind: "openai-chat",
  source: "team",
  base_url: "https://models.example.com/v1",
  has_key: true,
  models: ["small", "large"],
  created_at: 1,
  updated_at: 1,
};

test("a kept key is left out of what is sent, so that it stays", () => {
  expect(bodyOf(valuesOf(KEPT))).toEqual({
    name: "acme",
    kind: "openai-chat",
    base_url: "https://models.example.com/v1",
    models: ["small", "large"],
  });
});

test("a key is replaced by what was entered, and removed with null", () => {
  expect(bodyOf({ ...valuesOf(KEPT), keyChoice: "replace", apiKey: " sk-new " }).api_key).toBe("sk-new");
  expect(bodyOf({ ...valuesOf(KEPT), keyChoice: "remove", apiKey: "sk-new" }).api_key).toBeNull();
});

test("a new provider without key and address says so with null", () => {
  expect(bodyOf({ ...EMPTY, name: " ollama " })).toEqual({
    name: "ollama",
    kind: "openai-chat",
    base_url: null,
    api_key: null,
    models: [],
  });
});

test("models are read from lines and commas, each once", () => {
  expect(modelsOf(" a, b\n\nb ,c\n")).toEqual(["a", "b", "c"]);
});

test("a connection is tried with what the form says", () => {
  expect(connectionOf({ ...EMPTY, baseUrl: " http://127.0.0.1:1/v1 ", apiKey: "k" }, "small")).toEqual({
    kind: "openai-chat",
    base_url: "http://127.0.0.1:1/v1",
    api_key: "k",
    model: "small",
  });
});

test("another address needs the key again, another name or model does not", () => {
  const values = valuesOf(KEPT);
  expect(movesKey({ ...values, baseUrl: "https://evil.example/v1" }, KEPT)).toBe(true);
  expect(movesKey({ ...values, baseUrl: "" }, KEPT)).toBe(true);
  expect(movesKey({ ...values, name: "other", models: "x" }, KEPT)).toBe(false);
  expect(movesKey({ ...values, baseUrl: "https://evil.example/v1", keyChoice: "replace" }, KEPT)).toBe(false);
  expect(isSameConnection(values, KEPT)).toBe(true);
  expect(isSameConnection({ ...values, kind: "openai" }, KEPT)).toBe(false);
});

test("OpenAI's two kinds are one place without an address", () => {
  const own = { ...KEPT, kind: "openai", base_url: null };
  expect(movesKey({ ...valuesOf(own), kind: "openai-chat" }, own)).toBe(false);
  expect(movesKey({ ...valuesOf(own), kind: "anthropic" }, own)).toBe(true);
});

test("names, keys and addresses that the server would refuse are told before", () => {
  expect(
    ["", "demo", "Acme", "a b", "-a", "a".repeat(65)].map((name) => nameProblem(name) === undefined),
  ).toEqual(Array(6).fill(false));
  expect(nameProblem("acme-2")).toBeUndefined();
  expect(keyProblem("sk with space")).toBeDefined();
  expect(keyProblem(" sk-1 ")).toBeUndefined();
  expect(["ftp://x/v1", "models.example.com", "https://x/v1?key=1"].every(urlProblem)).toBe(true);
  expect(urlProblem("http://127.0.0.1:11434/v1")).toBeUndefined();
});

test("addresses of the own network are known", () => {
  const near = [
    "http://127.0.0.1:11434/v1",
    "http://localhost/v1",
    "http://192.168.1.5/v1",
    "http://10.0.0.1",
    "http://172.20.0.2",
    "http://[::1]:8000/v1",
    "http://ollama:11434/v1",
    "http://host.docker.internal:11434/v1",
    "http://mac-studio.local:1234/v1",
    "http://0.0.0.0:8080",
  ];
  expect(near.filter((url) => !isNearby(url))).toEqual([]);
  expect(["https://api.openai.com/v1", "http://172.40.0.1", "not a url", ""].filter(isNearby)).toEqual([]);
});

test("models are offered in order, without those that the form would take for two", () => {
  expect(offeredOf(["gpt-10", "gpt-9", "a,b", "<b>x</b>"])).toEqual(["<b>x</b>", "gpt-9", "gpt-10"]);
  expect(offeredOf(null)).toEqual([]);
});

test("a filter wants all of its words, in any order and case", () => {
  const models = ["meta/llama-3-8b", "meta/llama-3-70b", "qwen-8b"];
  expect(filterModels(models, " 8B llama ")).toEqual(["meta/llama-3-8b"]);
  expect(filterModels(models, "")).toEqual(models);
  expect(filterModels(models, "x")).toEqual([]);
});

test("a model is added after those that were typed, and taken out again", () => {
  expect(toggleModel("", "a")).toBe("a");
  expect(toggleModel("typed, b", "a")).toBe("typed\nb\na");
  expect(toggleModel("typed\na\nb", "a")).toBe("typed\nb");
});

test("too many models, and names that are too long, are told before", () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `m${at}`).join("\n");
  expect(modelsProblem(many(200))).toBeUndefined();
  expect(modelsProblem(many(201))).toContain("200");
  expect(modelsProblem("x".repeat(201))).toContain("200 characters");
});
