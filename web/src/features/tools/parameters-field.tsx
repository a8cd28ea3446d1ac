/** The parameters of a tool in two ways over the same schema: a table, and its JSON. */

import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { JsonEditor } from "@/components/json/json-editor";
import { parseJson } from "@/components/json/parse-json";
import { Button } from "@/components/ui/button";
import { Tabs } from "@/components/ui/tabs";
import { isObject, writeJson } from "@/lib/json";
import { objectIn } from "./json";
import { ParameterLine } from "./parameter-line";
import { newRow, type Row, rowProblem, rowsOf, schemaOf } from "./parameter-table";

interface ParametersFieldProps {
  /** The JSON schema, as text. */
  value: string;
  /** `problem`: what in the table cannot be written into the schema. */
  onChange: (text: string, problem?: string) => void;
  problem?: string | undefined;
}

export function ParametersField({ value, onChange, problem }: ParametersFieldProps): ReactNode {
  const [way, setWay] = useState("table");
  const [read, setRead] = useState(() => ({ text: value, rows: rowsOf(objectIn(value)) }));
  // The text was changed elsewhere: the rows follow.
  if (read.text !== value) setRead({ text: value, rows: rowsOf(objectIn(value)) });
  const parsed = parseJson(value);
  const readable = parsed.ok && isObject(parsed.value);

  const change = (rows: Row[]) => {
    const wrong = rows.map((row) => rowProblem(row, rows));
    const fitting = rows.filter((_, at) => !wrong[at]);
    const text = writeJson(schemaOf(fitting, objectIn(value)));
    setRead({ text, rows });
    onChange(text, wrong.find(Boolean));
  };
  const table = readable ? (
    <div className="flex flex-col gap-3">
      {read.rows.length === 0 && (
        <p className="text-sm text-soft">No parameters: the model calls it without arguments.</p>
      )}
      {read.rows.map((row, at) => (
        <ParameterLine
          key={row.key}
          row={row}
          at={at}
          problem={row.name ? rowProblem(row, read.rows) : undefined}
          onChange={(next) => change(read.rows.map((other) => (other.key === row.key ? next : other)))}
          onRemove={() => change(read.rows.filter((other) => other.key !== row.key))}
        />
      ))}
      {problem && (
        <p role="alert" className="text-[0.8125rem] text-bad">
          {problem}
        </p>
      )}
      <div>
        <Button size="small" onClick={() => change([...read.rows, newRow()])}>
          <Plus className="size-3.5" aria-hidden />
          Add parameter
        </Button>
      </div>
    </div>
  ) : (
    <div className="flex flex-col items-start gap-3">
      <p className="text-sm text-bad" role="alert">
        The JSON is invalid, so the table cannot be shown.
      </p>
      <Button size="small" onClick={() => setWay("json")}>
        Fix the JSON
      </Button>
    </div>
  );
  const json = (
    <JsonEditor
      label="JSON schema"
      hint="Must have type object. You can use all of JSON Schema; what the table cannot show is kept."
      rows={16}
      value={value}
      onChange={(text) => onChange(text)}
      problem={problem}
    />
  );
  return (
    <Tabs
      label="Parameters"
      value={way}
      onChange={setWay}
      tabs={[
        { id: "table", title: "Table", content: table },
        { id: "json", title: "JSON", content: json },
      ]}
    />
  );
}
