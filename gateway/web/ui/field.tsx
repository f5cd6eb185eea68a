/** Controls of a form, with label, hint and error. */
import type { ComponentChildren, JSX, VNode } from "preact";
import { useId } from "preact/hooks";

/** Attributes that connect an input, select or textarea to its label, hint and error. */
export interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

interface LabelProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  /** What is wrong with the value, and what to do. */
  readonly error?: string | undefined;
}

/** One labelled control. */
export function Field({
  label,
  hint,
  error,
  children,
}: LabelProps & { readonly children: (control: ControlProps) => VNode }) {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        "aria-describedby": described.length === 0 ? undefined : described.join(" "),
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error !== undefined && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps extends LabelProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: "text" | "password" | "number" | "date" | "search";
  readonly required?: boolean;
  readonly min?: number | string;
  readonly max?: number | string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly placeholder?: string;
  readonly autocomplete?: "current-password" | "new-password";
  /** The id of a datalist with suggestions. */
  readonly list?: string;
}

/**
 * A field for one line of text. Browsers do not fill it in, capitalize or correct it, unless an
 * attribute allows that.
 */
export function TextField({ label, hint, error, onInput, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          {...(input as JSX.IntrinsicElements["input"])}
          {...control}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface LinesFieldProps extends LabelProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly required?: boolean;
}

/** A field for several texts, one on each line. */
export function LinesField({ label, hint, error, value, onInput, required = false }: LinesFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea
          {...control}
          rows={3}
          required={required}
          autocapitalize="none"
          spellcheck={false}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface CheckFieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly checked: boolean;
  readonly onInput: (checked: boolean) => void;
}

/** A box to tick. */
export function CheckField({ label, hint, checked, onInput }: CheckFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          checked={checked}
          aria-describedby={hint === undefined ? undefined : id}
          onChange={({ currentTarget }) => onInput(currentTarget.checked)}
        />{" "}
        {label}
      </label>
      {hint !== undefined && (
        <p class="hint" id={id}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface SelectFieldProps extends LabelProps {
  readonly options: readonly (readonly [value: string, title: string])[];
  readonly value: string;
  readonly onInput: (value: string) => void;
}

/** A field to choose one of several options. */
export function SelectField({ label, hint, error, options, value, onInput }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <select {...control} value={value} onChange={({ currentTarget }) => onInput(currentTarget.value)}>
          {options.map(([option, title]) => (
            <option key={option} value={option}>
              {title}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** The value of each field of a table's filters, and what its input changes. */
export function filterFields<Filter extends { readonly [Name in keyof Filter]: string }>(
  filter: Filter,
  onChange: (filter: Filter) => void,
) {
  return (name: keyof Filter) => ({
    value: filter[name],
    onInput: (value: string) => onChange({ ...filter, [name]: value }),
  });
}
