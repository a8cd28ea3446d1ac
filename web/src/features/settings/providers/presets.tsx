/** Common model servers, filled in with one click. */
import type { ReactNode } from "react";
import { cx } from "@/lib/class-names";
import { PRESETS, type Preset, type ProviderValues } from "./provider-form";

interface PresetsProps {
  values?: ProviderValues;
  onChoose: (preset: Preset) => void;
}

export function Presets({ values, onChoose }: PresetsProps): ReactNode {
  const isChosen = ({ values: preset }: Preset) =>
    preset.kind === values?.kind && preset.baseUrl === values.baseUrl && preset.name === values.name;
  return (
    <fieldset>
      <legend className="mb-1.5 text-sm font-medium">Start with</legend>
      <div className="grid grid-cols-2 gap-2 sm:grid-cols-3">
        {PRESETS.map((preset) => (
          <button
            key={preset.id}
            type="button"
            aria-pressed={isChosen(preset)}
            onClick={() => onChoose(preset)}
            className={cx(
              "rounded-xl border px-3 py-2 text-left transition-colors hover:bg-hover",
              isChosen(preset) ? "border-accent bg-accent-soft" : "border-line",
            )}
          >
            <span className="block text-sm font-medium">{preset.title}</span>
            <span className="block text-xs text-soft">{preset.words}</span>
          </button>
        ))}
      </div>
    </fieldset>
  );
}
