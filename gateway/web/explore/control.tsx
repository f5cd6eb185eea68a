/**
 * The control for one value: which input each kind of field has, and which JSON value its text
 * becomes.
 */
import { useState } from "preact/hooks";
import { isJson } from "../../../src/api/json-layout.js";
import type { ControlProps } from "../ui/field.js";
import { BytesControl } from "./bytes-control.js";
import type { Field } from "./document.js";
import { parseExact, Unfinished } from "./json-text.js";

interface FieldControlProps {
  readonly field: Field;
  readonly control: ControlProps;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

const PLACEHOLDERS: Readonly<Partial<Record<Field["kind"], string>>> = {
  timestamp: "2026-01-31T12:00:00Z",
  duration: "1.5s",
};

/** The control of a value that is not a message. */
export function Control({ field, control, value, onChange }: FieldControlProps) {
  const { kind, values, secret } = field;
  const type = (text: string) => onChange(typed(text, kind));
  if (kind === "json") return <JsonControl control={control} value={value} onChange={onChange} />;
  if (kind === "boolean" || kind === "enum") {
    const options = kind === "boolean" ? ["true", "false"] : values;
    const pick = (text: string) => onChange(text === "" ? undefined : kind === "boolean" ? text === "true" : text);
    return (
      <select {...control} value={textOf(value)} onChange={(event) => pick(event.currentTarget.value)}>
        <option value="">not given</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    );
  }
  // With this value of autocomplete, the browser does not fill in a password that it has stored.
  const hidden = { type: "password", autocomplete: "new-password" } as const;
  if (secret) {
    return (
      <input {...control} {...hidden} value={textOf(value)} onInput={(event) => type(event.currentTarget.value)} />
    );
  }
  if (kind === "bytes") {
    return <BytesControl control={control} placeholder={field.example} value={textOf(value)} onChange={onChange} />;
  }
  return (
    <input
      {...control}
      value={textOf(value)}
      placeholder={field.example || PLACEHOLDERS[kind]}
      inputMode={kind === "number" ? "decimal" : "text"}
      autocomplete="off"
      autocapitalize="none"
      spellcheck={kind === "string"}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}

/** Any JSON, shown as the visitor typed it. */
function JsonControl({ control, value, onChange }: Omit<FieldControlProps, "field">) {
  const [text, setText] = useState("");
  const type = (typed: string) => {
    setText(typed);
    onChange(read(typed));
  };
  // If an item of a list has been removed, this may now be the control of another item. Then the
  // typed text does not belong to the value, and is not shown.
  const isTyped = JSON.stringify(read(text)) === JSON.stringify(value);
  return (
    <textarea
      {...control}
      class="mono"
      rows={2}
      spellcheck={false}
      value={isTyped ? text : value instanceof Unfinished ? value.text : JSON.stringify(value)}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}

function read(text: string): unknown {
  if (text.trim() === "") return undefined;
  return isJson(text) ? parseExact(text) : new Unfinished(text);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * A number that JavaScript represents exactly is a number. Any other number is a string, which
 * proto3 JSON accepts too.
 */
function typed(text: string, kind: Field["kind"]): unknown {
  if (text === "") return undefined;
  if (kind !== "number" || !/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return text;
  return String(Number(text)) === text ? Number(text) : text;
}
