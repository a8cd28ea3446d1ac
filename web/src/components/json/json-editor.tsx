/** A field for JSON text that says while one types what is wrong and where. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Field } from "@/components/ui/field";
import { cx } from "@/lib/class-names";
import { checkJson, type JsonSchema, schemaCheck } from "./json-check";
import { printJson, readJson } from "./json-text";

export interface JsonEditorProps {
  /** The text, which need not be JSON yet; `checkJson(value)` gives the value or the problem. */
  value: string;
  onChange: (text: string) => void;
  label: string;
  hint?: ReactNode;
  /** What the value should look like; a mismatch is shown, but `onChange` is still called. */
  schema?: JsonSchema;
  /** The height to begin with, in lines of text. */
  rows?: number;
  /** Something wrong that only the caller knows, such as a refusal of the server. */
  problem?: string | undefined;
  /** Says that it may be left empty. */
  optional?: boolean;
  readOnly?: boolean;
  autoFocus?: boolean;
}

const MAX_PROBLEMS = 4;

export function JsonEditor(props: JsonEditorProps): ReactNode {
  const {
    value,
    onChange,
    label,
    hint,
    schema,
    rows = 10,
    problem,
    optional = false,
    readOnly = false,
  } = props;
  const checked = useMemo(() => (optional && !value.trim() ? null : checkJson(value)), [value, optional]);
  const unfit = useUnfit(checked && checked.problem === null ? checked.value : undefined, schema);
  const shown = checked?.problem ?? problem ?? unfit.slice(0, MAX_PROBLEMS).join(" ");
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const wantsFocus = props.autoFocus ?? false;
  useEffect(() => {
    if (wantsFocus) area.current?.focus();
  }, [wantsFocus]);

  const format = () => {
    const reading = readJson(value);
    if ("node" in reading) onChange(printJson(reading.node));
  };
  const height = `${rows * 1.25 + 1}rem`;
  const numbers = Array.from(value.split("\n"), (_, line) => line + 1).join("\n");
  return (
    <Field
      label={label}
      problem={shown || undefined}
      {...(hint ? { hint } : {})}
      {...(optional ? { optional } : {})}
    >
      {(control) => (
        <div
          className={cx(
            "overflow-hidden rounded-lg border bg-raised",
            "focus-within:outline-2 focus-within:outline-accent/40",
            shown ? "border-bad" : "border-strong-line/60 focus-within:border-accent",
          )}
        >
          <div className="flex font-mono text-[0.8125rem] leading-5">
            <div
              ref={gutter}
              aria-hidden
              className="shrink-0 overflow-hidden border-r border-line bg-panel py-2 pr-2 pl-2.5 text-right whitespace-pre text-soft select-none"
              style={{ height }}
            >
              {numbers}
            </div>
            <textarea
              {...control}
              ref={area}
              value={value}
              readOnly={readOnly}
              onChange={(event) => onChange(event.target.value)}
              onScroll={(event) => {
                if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
              }}
              wrap="off"
              spellCheck={false}
              autoCapitalize="off"
              autoComplete="off"
              className="min-w-0 flex-1 resize-none bg-transparent px-3 py-2 outline-none"
              style={{ height }}
            />
          </div>
          {!readOnly && (
            <div className="flex justify-end border-t border-line bg-panel px-1 py-0.5">
              <Button
                look="quiet"
                size="small"
                disabled={!checked || checked.problem !== null}
                onClick={format}
              >
                Format
              </Button>
            </div>
          )}
        </div>
      )}
    </Field>
  );
}

/** How a value does not fit its schema. The checker is loaded when there is a schema. */
function useUnfit(value: unknown, schema: JsonSchema | undefined): string[] {
  const [check, setCheck] = useState<{ of: JsonSchema; run: (value: unknown) => string[] } | null>(null);
  useEffect(() => {
    if (!schema) return undefined;
    let wanted = true;
    void schemaCheck(schema).then((run) => wanted && setCheck({ of: schema, run }));
    return () => {
      wanted = false;
    };
  }, [schema]);
  return useMemo(
    () => (check && check.of === schema && value !== undefined ? check.run(value) : []),
    [check, schema, value],
  );
}
