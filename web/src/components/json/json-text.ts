/** Reads JSON text as it is written: numbers keep their digits, objects their repeated keys, and what is wrong has a place. */
import { escapeUnseen } from "@/lib/visible";

export type JsonNode =
  | { kind: "object"; entries: [string, JsonNode][] }
  | { kind: "array"; items: JsonNode[] }
  | { kind: "string"; value: string }
  | { kind: "number"; raw: string }
  | { kind: "word"; raw: "true" | "false" | "null" };

interface JsonProblem {
  line: number;
  column: number;
  message: string;
}

type JsonReading = { node: JsonNode } | { problem: JsonProblem };

const DEEPEST = 200;
const BLANK = /[ \t\r\n]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

class Wrong extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** Reads a JSON text; a text that is none comes back as the first thing that is wrong with it. */
export function readJson(text: string): JsonReading {
  try {
    const reader = new Reader(text);
    const node = reader.value(0);
    reader.end();
    return { node };
  } catch (thrown) {
    if (!(thrown instanceof Wrong)) throw thrown;
    return { problem: { ...placeIn(text, thrown.at), message: thrown.message } };
  }
}

/** Writes a node as indented JSON, in which every character can be seen. */
export function printJson(node: JsonNode, indent = ""): string {
  const inner = `${indent}  `;
  switch (node.kind) {
    case "object": {
      if (node.entries.length === 0) return "{}";
      const lines = node.entries.map(
        ([key, value]) => `${inner}${escapeUnseen(JSON.stringify(key))}: ${printJson(value, inner)}`,
      );
      return `{\n${lines.join(",\n")}\n${indent}}`;
    }
    case "array": {
      if (node.items.length === 0) return "[]";
      return `[\n${node.items.map((item) => inner + printJson(item, inner)).join(",\n")}\n${indent}]`;
    }
    case "string":
      return escapeUnseen(JSON.stringify(node.value));
    default:
      return node.raw;
  }
}

class Reader {
  private readonly text: string;
  private at = 0;

  constructor(text: string) {
    this.text = text;
  }

  value(depth: number): JsonNode {
    this.skip(BLANK);
    if (depth > DEEPEST) throw new Wrong(this.at, "The value is nested too deeply.");
    const next = this.text[this.at];
    if (next === undefined)
      throw new Wrong(this.at, depth === 0 ? "Enter a value." : "A value is missing here.");
    if (next === "{") return this.object(depth);
    if (next === "[") return this.array(depth);
    if (next === '"') return { kind: "string", value: this.string() };
    for (const raw of ["true", "false", "null"] as const) {
      if (this.text.startsWith(raw, this.at)) {
        this.at += raw.length;
        return { kind: "word", raw };
      }
    }
    return this.number(next);
  }

  end(): void {
    this.skip(BLANK);
    if (this.at < this.text.length) throw new Wrong(this.at, "There is extra text after the value.");
  }

  private object(depth: number): JsonNode {
    const entries: [string, JsonNode][] = [];
    this.at += 1;
    this.skip(BLANK);
    if (this.take("}")) return { kind: "object", entries };
    for (;;) {
      this.skip(BLANK);
      if (this.text[this.at] !== '"') {
        const comma = this.text[this.at] === "}";
        throw new Wrong(this.at, comma ? "Remove the comma before }." : 'Expected a name in "quotes".');
      }
      const key = this.string();
      this.skip(BLANK);
      if (!this.take(":")) throw new Wrong(this.at, "Expected a colon after the name.");
      entries.push([key, this.value(depth + 1)]);
      this.skip(BLANK);
      if (this.take("}")) return { kind: "object", entries };
      if (!this.take(",")) throw new Wrong(this.at, "Expected a comma or }.");
    }
  }

  private array(depth: number): JsonNode {
    const items: JsonNode[] = [];
    this.at += 1;
    this.skip(BLANK);
    if (this.take("]")) return { kind: "array", items };
    for (;;) {
      this.skip(BLANK);
      if (this.text[this.at] === "]") throw new Wrong(this.at, "Remove the comma before ].");
      items.push(this.value(depth + 1));
      this.skip(BLANK);
      if (this.take("]")) return { kind: "array", items };
      if (!this.take(",")) throw new Wrong(this.at, "Expected a comma or ].");
    }
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    for (;;) {
      this.skip(PLAIN);
      if (this.take('"')) return JSON.parse(this.text.slice(start, this.at)) as string;
      if (this.text[this.at] !== "\\") throw new Wrong(this.at, 'The closing " is missing.');
      if (!this.skip(ESCAPE)) throw new Wrong(this.at, "Not a valid JSON escape.");
    }
  }

  private number(next: string): JsonNode {
    const raw = this.skip(NUMBER);
    if (!raw)
      throw new Wrong(this.at, next === "'" ? 'Strings need "double quotes".' : "Expected a JSON value.");
    return { kind: "number", raw };
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  private skip(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }
}

function placeIn(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
