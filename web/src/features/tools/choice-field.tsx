/** One of a few, each with what it means. */
import { type ReactNode, useId } from "react";
import { cx } from "@/lib/class-names";

interface ChoiceFieldProps<T extends string> {
  label: string;
  hint?: string;
  options: Record<T, { title: string; meaning: string }>;
  /** The options in the order they are shown. */
  order: readonly T[];
  value: T;
  onChange: (value: T) => void;
}

export function ChoiceField<T extends string>(props: ChoiceFieldProps<T>): ReactNode {
  const { label, hint, options, order, value, onChange } = props;
  const id = useId();
  return (
    <fieldset>
      <legend className="text-sm font-medium">{label}</legend>
      {hint && <p className="text-[0.8125rem] text-soft">{hint}</p>}
      <div className="mt-2 flex flex-col gap-2">
        {order.map((option) => (
          <label
            key={option}
            className={cx(
              "flex cursor-pointer items-start gap-3 rounded-xl border px-3.5 py-2.5 has-focus-visible:outline-2 has-focus-visible:outline-accent",
              option === value ? "border-accent bg-accent-soft" : "border-line hover:bg-hover",
            )}
          >
            <input
              type="radio"
              name={id}
              checked={option === value}
              onChange={() => onChange(option)}
              aria-labelledby={`${id}-${option}`}
              aria-describedby={`${id}-${option}-meaning`}
              className="mt-1 accent-accent outline-none"
            />
            <span className="min-w-0">
              <span id={`${id}-${option}`} className="block text-sm font-medium">
                {options[option].title}
              </span>
              <span
                id={`${id}-${option}-meaning`}
                className={cx("block text-[0.8125rem]", option === value ? "text-ink" : "text-soft")}
              >
                {options[option].meaning}
              </span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
