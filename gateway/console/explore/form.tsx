/**
 * A form made from a message's fields. Its value is the request's JSON itself: a field that is not filled in is not in
 * it. What a field takes is the service's to judge, so nothing that can be typed is refused here.
 */
import { type ComponentChildren, toChildArray, type VNode } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { Field as Labelled } from "../ui/field.js";
import { CloseIcon, PlusIcon } from "../ui/icons.js";
import { Control } from "./control.js";
import type { Field, Message } from "./document.js";

type JsonObject = Readonly<Record<string, unknown>>;
type Change = (value: unknown) => void;

interface MessageFormProps {
  readonly message: Message;
  readonly value: unknown;
  readonly onChange: Change;
}

export function MessageForm({ message, value, onChange }: MessageFormProps) {
  const object = asObject(value);
  const single = message.fields.filter(({ name }) => !message.choices.some((choice) => choice.includes(name)));
  const set = (name: string, member: unknown) => onChange(withMember(object, name, member));
  if (message.fields.length === 0) return <p class="soft">This message has no fields.</p>;
  return (
    <div class="form">
      {single.map((field) => (
        <FieldForm key={field.name} field={field} value={object[field.name]} onChange={(one) => set(field.name, one)} />
      ))}
      {message.choices.map((names) => (
        <ChoiceForm
          key={names.join()}
          fields={message.fields.filter(({ name }) => names.includes(name))}
          value={object}
          onChange={onChange}
        />
      ))}
    </div>
  );
}

interface FieldFormProps {
  readonly field: Field;
  readonly value: unknown;
  readonly onChange: Change;
}

function FieldForm({ field, value, onChange }: FieldFormProps) {
  if (field.cardinality === "list") return <ListForm field={field} value={value} onChange={onChange} />;
  if (field.cardinality === "map") return <MapForm field={field} value={value} onChange={onChange} />;
  return <SingleForm field={field} label={field.name} value={value} onChange={onChange} />;
}

function SingleForm({ field, label, value, onChange }: FieldFormProps & { readonly label: string }) {
  if (field.message !== undefined) return <InnerForm field={field} label={label} value={value} onChange={onChange} />;
  return (
    <Labelled
      label={
        <>
          <code>{label}</code> <span class="field-type">{field.type}</span>
        </>
      }
    >
      {(control) => <Control field={field} control={control} value={value} onChange={onChange} />}
    </Labelled>
  );
}

/** One of several fields, or none. */
function ChoiceForm({ fields, value, onChange }: { fields: readonly Field[]; value: JsonObject; onChange: Change }) {
  const given = fields.find(({ name }) => value[name] !== undefined);
  const [chosen, setChosen] = useState<string>();
  const field = given ?? fields.find(({ name }) => name === chosen);
  const choose = (name: string) => {
    const others = Object.entries(value).filter(([key]) => !fields.some((one) => one.name === key));
    const next = fields.find((one) => one.name === name);
    setChosen(name);
    onChange(Object.fromEntries(next === undefined ? others : [...others, [name, emptyOf(next)]]));
  };
  return (
    <fieldset class="form-choice" aria-label="One of these">
      <Labelled label="One of these">
        {(control) => (
          <select {...control} value={field?.name ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="">none</option>
            {fields.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      {field && (
        <FieldForm
          key={field.name}
          field={field}
          value={value[field.name]}
          onChange={(one) => onChange(withMember(value, field.name, one))}
        />
      )}
    </fieldset>
  );
}

/** A message inside, once it is wanted: it may contain itself. */
function InnerForm({ field, label, value, onChange }: FieldFormProps & { readonly label: string }) {
  if (value === undefined || field.message === undefined) {
    return (
      <Group
        label={label}
        type={field.type}
        action={<AddButton label={`Add ${label}`} onClick={() => onChange({})} />}
      />
    );
  }
  return (
    <Group label={label} type={field.type} action={<RemoveButton label={label} onClick={() => onChange(undefined)} />}>
      <MessageForm message={field.message()} value={value} onChange={onChange} />
    </Group>
  );
}

function ListForm({ field, value, onChange }: FieldFormProps) {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const empty = emptyOf({ ...field, cardinality: "one" });
  const set = (next: readonly unknown[]) => onChange(next.length === 0 ? undefined : next);
  const add = <AddButton label={`Add an item to ${field.name}`} onClick={() => set([...items, empty])} />;
  return (
    <Group label={field.name} type={`list of ${field.type}`} action={add}>
      {items.map((item, index) => {
        const label = `${field.name} ${index + 1}`;
        const change: Change = (one) => set(one === undefined ? items.toSpliced(index, 1) : items.with(index, one));
        const changeText: Change = (one) => set(items.with(index, one ?? empty));
        if (field.message !== undefined) {
          return <InnerForm key={label} field={field} label={label} value={item} onChange={change} />;
        }
        return (
          <div key={label} class="form-item">
            <SingleForm field={field} label={label} value={item} onChange={changeText} />
            <RemoveButton label={label} onClick={() => change(undefined)} />
          </div>
        );
      })}
    </Group>
  );
}

function MapForm({ field, value, onChange }: FieldFormProps) {
  const entries = Object.entries(asObject(value));
  const empty = emptyOf({ ...field, cardinality: "one" });
  const set = (next: readonly (readonly [string, unknown])[]) =>
    onChange(next.length === 0 ? undefined : Object.fromEntries(next));
  const addEntry = () => set([...entries, [freeKey(entries), empty]]);
  const add = <AddButton label={`Add an entry to ${field.name}`} onClick={addEntry} />;
  return (
    <Group label={field.name} type={`map to ${field.type}`} action={add}>
      {entries.map(([key, member], index) => (
        <div key={key} class="form-item form-entry">
          <Labelled label={<code>key</code>}>
            {(control) => (
              <input
                {...control}
                value={key}
                // When it is left, since half a key may be the name of another entry.
                onChange={(event) => set(entries.with(index, [event.currentTarget.value, member]))}
              />
            )}
          </Labelled>
          <SingleForm
            field={field}
            label="value"
            value={member}
            onChange={(one) => set(entries.with(index, [key, one ?? empty]))}
          />
          <RemoveButton label={`${field.name} ${key}`} onClick={() => set(entries.toSpliced(index, 1))} />
        </div>
      ))}
    </Group>
  );
}

function freeKey(entries: readonly (readonly [string, unknown])[]): string {
  let count = entries.length + 1;
  while (entries.some(([key]) => key === `${count}`)) count++;
  return `${count}`;
}

interface GroupProps {
  readonly label: string;
  readonly type: string;
  /** A button that adds to it or removes it. */
  readonly action: VNode;
  readonly children?: ComponentChildren;
}

/** Several controls under one name. */
function Group({ label, type, action, children }: GroupProps) {
  return (
    <fieldset class="form-group" aria-label={label}>
      <div class="form-line">
        <span class="label">
          <code>{label}</code> <span class="field-type">{type}</span>
        </span>
        {action}
      </div>
      {toChildArray(children).length > 0 && <div class="form-inside">{children}</div>}
    </fieldset>
  );
}

function AddButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <Button small kind="quiet" onClick={onClick} aria-label={label}>
      <PlusIcon /> Add
    </Button>
  );
}

function RemoveButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="button quiet icon" aria-label={`Remove ${label}`} onClick={onClick}>
      <CloseIcon />
    </button>
  );
}

function asObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function withMember(object: JsonObject, name: string, member: unknown): JsonObject {
  const { [name]: before, ...others } = object;
  if (member === undefined) return others;
  // In its place, so that the JSON beside does not jump about.
  return before === undefined ? { ...object, [name]: member } : replaced(object, name, member);
}

function replaced(object: JsonObject, name: string, member: unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, key === name ? member : value]));
}

/** What a field begins with when it is added. */
function emptyOf({ kind, cardinality, values }: Field): unknown {
  if (cardinality === "list") return [];
  if (cardinality === "map" || kind === "message" || kind === "json") return {};
  if (kind === "number") return 0;
  if (kind === "boolean") return false;
  return kind === "enum" ? values[0] : "";
}
