/**
 * A table of a message's fields. The fields of an inner message are shown on demand, since a message may contain
 * itself.
 */
import { useState } from "preact/hooks";
import { Badge } from "../ui/badge.js";
import type { Field, Message } from "./document.js";
import { Prose } from "./prose.js";

export function FieldTable({ message, label }: { readonly message: Message; readonly label: string }) {
  if (message.fields.length === 0) return <p class="soft">No fields.</p>;
  return (
    <ul class="fields" aria-label={label}>
      {message.fields.map((field) => (
        <FieldRow key={field.name} field={field} others={othersOf(message, field.name)} />
      ))}
    </ul>
  );
}

function othersOf({ choices }: Message, name: string): readonly string[] {
  return (choices.find((choice) => choice.includes(name)) ?? []).filter((other) => other !== name);
}

function FieldRow({ field, others }: { readonly field: Field; readonly others: readonly string[] }) {
  const { name, description, deprecated, required, values, meaning } = field;
  return (
    <li class="field-row">
      <p class="field-head">
        <code class="field-name">{name}</code>
        <span class="field-type">{typeOf(field)}</span>
        {required && <Badge tone="warning">required</Badge>}
        {deprecated && <Badge tone="warning">deprecated</Badge>}
      </p>
      {description !== "" && <Prose text={description} />}
      {others.length > 0 && (
        <p class="soft">
          Not together with <Names names={others} />
        </p>
      )}
      {values.length > 0 && (
        <p class="soft">
          One of <Names names={values} />
        </p>
      )}
      {meaning !== "" && <Prose text={meaning} />}
      {field.message && <Inside field={field} read={field.message} />}
    </li>
  );
}

function Inside({ field, read }: { readonly field: Field; readonly read: () => Message }) {
  const [open, setOpen] = useState(false);
  const message = open ? read() : undefined;
  return (
    <>
      <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Hide" : "Show"} the fields of {field.type}
      </button>
      {message && (
        <div class="inside">
          {message.description !== "" && <Prose text={message.description} />}
          <FieldTable message={message} label={`Fields of ${field.name}`} />
        </div>
      )}
    </>
  );
}

function Names({ names }: { readonly names: readonly string[] }) {
  return (
    <>
      {names.map((name, index) => (
        <>
          {index > 0 && ", "}
          <code key={name}>{name}</code>
        </>
      ))}
    </>
  );
}

function typeOf({ cardinality, type }: Field): string {
  if (cardinality === "list") return `list of ${type}`;
  return cardinality === "map" ? `map to ${type}` : type;
}
