/** Where each argument goes, updated while the URL is typed. */

import { CircleAlert, CircleCheck, Plus } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "@/components/ui/button";
import type { JsonObject } from "@/lib/json";
import { type Destination, destinationProblem, destinations, type Method } from "./url-template";

interface UrlReportProps {
  url: string;
  method: Method;
  schema: JsonObject;
  /** Puts what the URL names into the parameters. */
  onAdd: () => void;
}

const PLACES: Record<Destination["place"], string> = {
  path: "in the path",
  query: "in the query",
  body: "in the JSON body",
};

export function UrlReport({ url, method, schema, onAdd }: UrlReportProps): ReactNode {
  const found = destinations(url, method, schema);
  const problems = found.filter((destination) => destination.problem);
  if (!url) return null;
  return (
    <div className="rounded-xl bg-panel px-3.5 py-3 text-[0.8125rem]" aria-live="polite">
      {found.length === 0 ? (
        <p className="text-soft">No model-supplied values yet: every call is the same.</p>
      ) : (
        <>
          <p className="mb-1.5 text-soft">Model-supplied values</p>
          <ul className="flex flex-wrap gap-x-5 gap-y-1">
            {found.map((destination) => (
              <li key={destination.name} className="flex items-center gap-1.5 wrap-anywhere">
                {destination.problem ? (
                  <CircleAlert className="size-3.5 shrink-0 text-warn" aria-label="Invalid:" />
                ) : (
                  <CircleCheck className="size-3.5 shrink-0 text-good" aria-hidden />
                )}
                <code className="font-mono">{destination.name}</code>
                <span className="text-soft">{PLACES[destination.place]}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {problems.length > 0 && (
        <div className="mt-2.5 flex flex-wrap items-center justify-between gap-2">
          <p className="text-warn">{problems.map(destinationProblem).join(" ")}</p>
          <Button size="small" onClick={onAdd}>
            <Plus className="size-3.5" aria-hidden />
            {problems.some(({ problem }) => problem === "missing") ? "Add parameters" : "Fix parameters"}
          </Button>
        </div>
      )}
    </div>
  );
}
