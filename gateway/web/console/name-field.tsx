import type { ComponentChildren } from "preact";
import { Field } from "../ui/field.js";

interface NameFieldProps {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly required?: boolean;
  readonly maxLength?: number;
  /** The id of the datalist with what may be meant. */
  readonly list?: string;
}

/** A field for names and the like, which no browser fills in, capitalizes or corrects. */
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
