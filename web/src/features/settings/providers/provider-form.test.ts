import { expect, test } from "vitest";
import type { ProviderView } from "@/protocol/api";
import {
  bodyOf,
  connectionOf,
  EMPTY,
  isNearby,
  isSameConnection,
  keyProblem,
  modelsOf,
  movesKey,
  nameProblem,
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
  ];
  expect(near.filter((url) => !isNearby(url))).toEqual([]);
  expect(["https://api.openai.com/v1", "http://172.40.0.1", "not a url", ""].filter(isNearby)).toEqual([]);
});
