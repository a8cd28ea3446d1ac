import { expect, test } from "vitest";
import { originOf } from "@/lib/origin";
import { destinations, placeholders, urlProblem, withPlaceholders } from "./url-template";

const schema = {
  type: "object",
  properties: { number: { type: "string" }, currency: { type: "string" }, lines: { type: "array" } },
  required: ["number"],
};

test("placeholders are found in path and query, each once", () => {
  expect(placeholders("https://a.example/{one}/{two_2}?x={one}&y={a-b}")).toEqual(["one", "two_2", "a-b"]);
  expect(placeholders("https://a.example/{}/{1}/{a b}")).toEqual([]);
});

test.each([
  ["https://shop.example.com/orders/{number}?expand=lines", undefined],
  ["http://127.0.0.1:8080", undefined],
  ["HTTPS://shop.example.com?q={word}", undefined],
  ["", "Enter a URL"],
  ["ftp://shop.example.com/", "Start with https://"],
  ["https://{host}/orders", "Start with https://"],
  ["https://shop.{tld}/orders", "Start with https://"],
  ["https://shop.example.com/#orders", "never sent"],
  ["https://shop.example.com/{1}", "Braces are for parameters"],
  ["https://shop.example.com/{number", "Braces are for parameters"],
  ["https://shop.example.com/../{number}", ". or .."],
  ["https://shop.example.com/a b", "cannot contain spaces"],
  ["https://shop.example.com:99999/", "not a valid URL"],
])("the URL %j is judged as the server does", (url, problem) => {
  if (problem === undefined) expect(urlProblem(url)).toBeUndefined();
  else expect(urlProblem(url)).toContain(problem);
});

test("what the URL does not name goes into the query of GET and the body of POST", () => {
  const url = "https://a.example/{number}";
  expect(destinations(url, "GET", schema)).toEqual([
    { name: "number", place: "path" },
    { name: "currency", place: "query" },
    { name: "lines", place: "query" },
  ]);
  expect(destinations(url, "POST", schema).map(({ place }) => place)).toEqual(["path", "body", "body"]);
});

test("a placeholder must be a required, plain parameter", () => {
  const url = "https://a.example/{nobody}?c={currency}&l={lines}&n={number}";
  expect(destinations(url, "GET", schema)).toEqual(
    [
      { name: "nobody", place: "query", problem: "missing" },
      { name: "currency", place: "query", problem: "optional" },
      { name: "lines", place: "query", problem: "not plain" },
      { name: "number", place: "query" },
    ].map((row) => (row.name === "nobody" ? { ...row, place: "path" } : row)),
  );
});

test("names that every object has are no parameters", () => {
  expect(destinations("https://a.example/{constructor}", "GET", { type: "object", properties: {} })).toEqual([
    { name: "constructor", place: "path", problem: "missing" },
  ]);
});

test("adding placeholders leaves what fits and mends the rest", () => {
  const url = "https://a.example/{nobody}/{currency}/{lines}/{number}";
  const mended = withPlaceholders(url, { ...schema, additionalProperties: false });
  expect(mended.properties).toEqual({
    number: { type: "string" },
    currency: { type: "string" },
    lines: { type: "string" },
    nobody: { type: "string" },
  });
  expect(mended.required).toEqual(["number", "nobody", "currency", "lines"]);
  expect(mended.additionalProperties).toBe(false);
  expect(destinations(url, "GET", mended).every(({ problem }) => problem === undefined)).toBe(true);
});

test("an origin is scheme, host and port, in small letters", () => {
  expect(originOf("HTTPS://Shop.example.com:8443/a?b#c")).toBe("https://shop.example.com:8443");
  expect(originOf("https://shop.example.com?b")).toBe("https://shop.example.com");
});
