/** A field for each argument of a call, made from the tool's schema. */
import type { ReactNode } from "react";
import { JsonEditor } from "@/components/json/json-editor";
import { Field, Input, Select, Textarea } from "@/components/ui/field";
import type { ArgumentField, Choice, Typed } from "./call-arguments";

interface ArgumentsFormProps {
  fields: ArgumentField[];
  typed: Typed;
  problems: Record<string, string>;
  onType: (name: string, text: string) => void;
  /** Whether fields go by the titles of the schema, not by the names of the arguments. */
  titled?: boolean;
}

const YES_OR_NO: Choice[] = [
  { value: true, label: "Yes" },
  { value: false, label: "No" },
];

export function ArgumentsForm({
  fields,
  typed,
  problems,
  onType,
  titled = false,
}: ArgumentsFormProps): ReactNode {
  if (fields.length === 0) return <p className="text-sm text-soft">No arguments.</p>;
  return (
    <div className="flex flex-col gap-3.5">
      {fields.map((field) => (
        <Argument
          key={field.name}
          field={field}
          label={titled && typeof field.schema.title === "string" ? field.schema.title : field.name}
          value={typed[field.name] ?? ""}
          problem={problems[field.name]}
          onChange={(text) => onType(field.name, text)}
        />
      ))}
    </div>
  );
}

interface ArgumentProps {
  field: ArgumentField;
  label: string;
  value: string;
  problem: string | undefined;
  onChange: (text: string) => void;
}

function Argument({ field, label, value, problem, onChange }: ArgumentProps): ReactNode {
  const { name, kind, required, description, choices, schema } = field;
  const said = { label, optional: !required, ...(description ? { hint: description } : {}), problem };
  if (kind === "json")
    return <JsonEditor {...said} rows={4} value={value} onChange={onChange} schema={schema} />;
  if (kind === "choice" || kind === "boolean") {
    const offered = kind === "boolean" ? YES_OR_NO : choices;
    return (
      <Field {...said}>
        {(control) => (
          <Select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
            <option value="">{required ? "Choose" : "Leave out"}</option>
            {offered.map((choice) => (
              <option key={JSON.stringify(choice.value)} value={JSON.stringify(choice.value)}>
                {choice.label}
              </option>
            ))}
          </Select>
        )}
      </Field>
    );
  }
  const long = kind === "text" && /content|text|body|message/i.test(name);
  return (
    <Field {...said}>
      {(control) =>
        long ? (
          <Textarea {...control} rows={3} value={value} onChange={(event) => onChange(event.target.value)} />
        ) : (
          <Input
            {...control}
            value={value}
            inputMode={kind === "text" ? "text" : "decimal"}
            autoComplete="off"
            onChange={(event) => onChange(event.target.value)}
          />
        )
      }
    </Field>
  );
}
