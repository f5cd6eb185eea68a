/** Controls of a form, with label, hint and error. */
import type { ComponentChildren, VNode } from "preact";
import { useId } from "preact/hooks";

/** Attributes that tie an input, select or textarea to its label, hint and error. */
export interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": true | undefined;
}

interface FieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  /** What is wrong with the value, and what to do. */
  readonly error?: string | undefined;
  readonly children: (control: ControlProps) => VNode;
}

/** One labelled control. */
export function Field({ label, hint, error, children }: FieldProps) {
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
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

interface NameFieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly required?: boolean;
  readonly maxLength?: number;
  /** The id of a datalist with suggestions. */
  readonly list?: string;
}

/** A field for a name or a pattern, which no browser fills in, capitalizes or corrects. */
export function NameField({ label, hint, error, list, onInput, ...input }: NameFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...control}
          {...input}
          list={list}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
        />
      )}
    </Field>
  );
}
