/** One parameter in the table. */
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "@/components/ui/button";
import { Input, Select } from "@/components/ui/field";
import { RowCell } from "@/components/ui/row-cell";
import { type Row, type RowType, TYPES, takesChoices, withType } from "./parameter-table";

interface ParameterLineProps {
  row: Row;
  at: number;
  problem: string | undefined;
  onChange: (row: Row) => void;
  onRemove: () => void;
}

const SHOWN = Object.keys(TYPES).filter(isType);

function isType(name: string): name is RowType {
  return Object.hasOwn(TYPES, name);
}

export function ParameterLine({ row, at, problem, onChange, onRemove }: ParameterLineProps): ReactNode {
  const of = `of parameter ${at + 1}`;
  const types = SHOWN.filter((type) => type !== "other" || row.type === "other");
  return (
    <div className="grid grid-cols-2 gap-x-3 gap-y-2.5 rounded-xl border border-line p-3.5 sm:grid-cols-6">
      <RowCell label="Name" of={of} problem={problem} className="col-span-2">
        {(cell) => (
          <Input
            {...cell}
            value={row.name}
            onChange={(event) => onChange({ ...row, name: event.target.value })}
            placeholder="number"
            autoComplete="off"
            spellCheck={false}
            className="font-mono text-[0.8125rem]"
          />
        )}
      </RowCell>
      <RowCell label="Type" of={of} className="sm:col-span-2">
        {(cell) => (
          <Select
            {...cell}
            value={row.type}
            onChange={({ target }) => isType(target.value) && onChange(withType(row, target.value))}
          >
            {types.map((type) => (
              <option key={type} value={type}>
                {TYPES[type]}
              </option>
            ))}
          </Select>
        )}
      </RowCell>
      <div className="flex items-end justify-between gap-2 sm:col-span-2">
        <label className="flex h-9 items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={row.required}
            onChange={(event) => onChange({ ...row, required: event.target.checked })}
            className="size-4 accent-accent"
          />
          Required <span className="sr-only">{of}</span>
        </label>
        <IconButton label={`Remove parameter ${row.name || at + 1}`} onClick={onRemove}>
          <Trash2 className="size-4" aria-hidden />
        </IconButton>
      </div>
      <RowCell
        label="Description, for the model"
        of={of}
        className={takesChoices(row.type) ? "col-span-2 sm:col-span-4" : "col-span-2 sm:col-span-6"}
      >
        {(cell) => (
          <Input
            {...cell}
            value={row.description}
            onChange={(event) => onChange({ ...row, description: event.target.value })}
            placeholder="What to enter here"
          />
        )}
      </RowCell>
      {takesChoices(row.type) && (
        <RowCell label="Allowed values" of={of} className="col-span-2">
          {(cell) => (
            <Input
              {...cell}
              value={row.choices}
              onChange={(event) => onChange({ ...row, choices: event.target.value })}
              placeholder="any, or a, b, c"
              autoComplete="off"
            />
          )}
        </RowCell>
      )}
    </div>
  );
}
