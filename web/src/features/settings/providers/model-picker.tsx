/** The models that the service offers, to be taken into the provider with a click. */
import { type ReactNode, useId, useState } from "react";
import { Input } from "@/components/ui/field";
import { filterModels } from "./provider-form";

interface ModelPickerProps {
  offered: string[];
  chosen: string[];
  onToggle: (model: string) => void;
}

/** With more than these a filter is of use. */
const FEW = 8;

export function ModelPicker({ offered, chosen, onToggle }: ModelPickerProps): ReactNode {
  const [words, setWords] = useState("");
  const id = useId();
  const shown = filterModels(offered, words);
  const taken = new Set(chosen);
  return (
    <fieldset className="min-w-0 rounded-xl border border-line" aria-describedby={`${id}-count`}>
      <legend className="ml-3 px-1 text-[0.8125rem] font-medium">Available models</legend>
      <div className="flex items-center gap-3 px-4 pt-1 pb-2">
        <p id={`${id}-count`} className="flex-1 text-[0.8125rem] text-soft" role="status">
          {shown.length < offered.length && `${shown.length} of `}
          {offered.length === 1 ? "1 model" : `${offered.length} models`},{" "}
          {offered.filter((model) => taken.has(model)).length} chosen
        </p>
        {offered.length > FEW && (
          <Input
            type="search"
            aria-label="Filter models"
            placeholder="Filter"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
            className="h-8 w-36! sm:w-56!"
          />
        )}
      </div>
      <ul className="max-h-52 overflow-y-auto border-t border-line py-1">
        {shown.map((model) => (
          <li key={model}>
            <label className="flex items-start gap-2.5 px-4 py-1.5 hover:bg-hover">
              <input
                type="checkbox"
                checked={taken.has(model)}
                onChange={() => onToggle(model)}
                className="mt-0.5 size-4 shrink-0 accent-accent"
              />
              <span className="min-w-0 font-mono text-[0.8125rem] wrap-anywhere">{model}</span>
            </label>
          </li>
        ))}
        {shown.length === 0 && <li className="px-4 py-2 text-[0.8125rem] text-soft">No matching models.</li>}
      </ul>
    </fieldset>
  );
}
