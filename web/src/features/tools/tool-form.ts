/** What the form of an HTTP tool holds, how it becomes a body, and where the server's refusals belong. */

import type { FieldPath } from "react-hook-form";
import { fieldProblems, type Problem } from "@/api/problem";
import { type HeaderRow, headerBodies, headerRows } from "@/components/headers/header-rows";
import { allowAdvice } from "@/lib/allow-advice";
import { writeJson } from "@/lib/json";
import type { Approval, Effect } from "@/lib/tool-words";
import type { AgentToolDetails, HttpToolBody } from "@/protocol/api";
import { objectIn } from "./json";
import type { Method } from "./url-template";

export interface ToolForm {
  name: string;
  description: string;
  method: Method;
  url: string;
  headers: HeaderRow[];
  /** The JSON schema, as text. */
  parameters: string;
  resultPath: string;
  timeoutS: string;
  effect: Effect;
  approval: Approval;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
export const LONGEST_TIMEOUT_S = 120;
export const USUAL_TIMEOUT_S = 30;
const LONGEST_NAME = 64;
const LONGEST_PATH = 500;

export const EMPTY: ToolForm = {
  name: "",
  description: "",
  method: "GET",
  url: "",
  headers: [],
  parameters: writeJson({ type: "object", properties: {} }),
  resultPath: "",
  timeoutS: "",
  effect: "read",
  approval: "never",
};

/** A public service without a key: it works as it is. */
export const EXAMPLE: ToolForm = {
  ...EMPTY,
  name: "current_weather",
  description:
    "Returns the current weather at a place: temperature in °C and wind in km/h. Use it for questions about the weather.",
  url: "https://api.open-meteo.com/v1/forecast?latitude={latitude}&longitude={longitude}&current=temperature_2m,wind_speed_10m",
  parameters: writeJson({
    type: "object",
    properties: {
      latitude: { type: "number", description: "Degrees north of the equator.", examples: [52.52] },
      longitude: { type: "number", description: "Degrees east of Greenwich.", examples: [13.41] },
      timezone: {
        type: "string",
        description: "Time zone of the times in the response, such as Europe/Berlin.",
      },
    },
    required: ["latitude", "longitude"],
  }),
  resultPath: "current",
  timeoutS: "10",
};

export function formOf(tool: AgentToolDetails): ToolForm {
  return {
    name: tool.name,
    description: tool.description,
    method: tool.method ?? "GET",
    url: tool.url ?? "",
    headers: headerRows(tool.headers ?? []),
    parameters: writeJson(tool.parameters),
    resultPath: tool.result_path ?? "",
    timeoutS: tool.timeout_s === null ? "" : String(tool.timeout_s),
    effect: tool.effect,
    approval: tool.approval,
  };
}

/** A copy under a name that is free. Its secrets have to be entered again. */
export function copyOf(tool: AgentToolDetails, taken: string[]): ToolForm {
  const base = tool.name.slice(0, LONGEST_NAME - 8);
  let name = `${base}_copy`;
  for (let count = 2; taken.includes(name); count += 1) name = `${base}_copy_${count}`;
  return { ...formOf(tool), name };
}

export function bodyOf(form: ToolForm): HttpToolBody {
  return {
    name: form.name,
    description: form.description,
    method: form.method,
    url: form.url,
    headers: headerBodies(form.headers),
    parameters: objectIn(form.parameters),
    result_path: form.resultPath || null,
    timeout_s: form.timeoutS ? Number(form.timeoutS) : null,
    effect: form.effect,
    approval: form.approval,
  };
}

export function nameProblem(name: string, taken: string[]): string | undefined {
  if (!name) return "Enter a name.";
  if (!/^[A-Za-z_]/.test(name)) return "Start with a letter or _.";
  if (name.length > LONGEST_NAME) return `At most ${LONGEST_NAME} characters.`;
  if (!NAME.test(name)) return "Use letters, digits, _ and - only.";
  return taken.includes(name) ? `A tool named ${name} already exists.` : undefined;
}

export function resultPathProblem(path: string): string | undefined {
  if (!path) return undefined;
  if (path.length > LONGEST_PATH) return `At most ${LONGEST_PATH} characters.`;
  return path.split(".").every(Boolean)
    ? undefined
    : "Use names and numbers separated by dots: data.items.0.";
}

export function timeoutProblem(text: string): string | undefined {
  if (!text) return undefined;
  const seconds = Number(text);
  return seconds > 0 && seconds <= LONGEST_TIMEOUT_S
    ? undefined
    : `Enter more than 0 and at most ${LONGEST_TIMEOUT_S} seconds.`;
}

type Place = FieldPath<ToolForm>;

/** Where in the form a refusal belongs; nowhere: it is about the whole. */
export function placesOf(problem: Problem, form: ToolForm): [Place, string][] {
  const { code, message, details } = problem;
  switch (code) {
    case "tool_exists":
      return [["name", message]];
    case "egress_refused":
      return [["url", [message, allowAdvice(form.url)].filter(Boolean).join(" ")]];
    case "invalid_schema":
      return [["parameters", message]];
    case "secret_required": {
      const missing = Array.isArray(details.headers) ? details.headers : [];
      return form.headers.flatMap((header, at): [Place, string][] =>
        missing.includes(header.name) ? [[`headers.${at}.value`, "Enter a value."]] : [],
      );
    }
    case "invalid_tool":
      return placeOfInvalid(message);
    default:
      return Object.entries(fieldProblems(problem)).flatMap(([path, message]): [Place, string][] => {
        const place = placeOfPath(path);
        return place ? [[place, message]] : [];
      });
  }
}

/** The server says in words what is wrong with a tool; the word that names the field decides. */
function placeOfInvalid(message: string): [Place, string][] {
  const places: [RegExp, Place][] = [
    [/cannot be a tool's name/, "name"],
    [/its URL|its path/, "url"],
    [/header/, "headers"],
    [/result path/, "resultPath"],
    [/time-out|timeout_s/, "timeoutS"],
  ];
  const found = places.find(([words]) => words.test(message));
  return found ? [[found[1], message]] : [];
}

const PATHS: Record<string, Place> = {
  name: "name",
  description: "description",
  method: "method",
  url: "url",
  headers: "headers",
  parameters: "parameters",
  result_path: "resultPath",
  timeout_s: "timeoutS",
  effect: "effect",
  approval: "approval",
};

function placeOfPath(path: string): Place | undefined {
  const header = /^headers\.(\d+)(?:\.(name|value))?$/.exec(path);
  if (header) return `headers.${Number(header[1])}.${header[2] === "name" ? "name" : "value"}`;
  return PATHS[path.split(".")[0] ?? ""];
}
