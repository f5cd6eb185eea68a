/**
 * A form made from a message's fields. Its value is the request's JSON, without the fields that are
 * not filled in. The form validates nothing: the gateway and the service decide which values a
 * field accepts.
 */
import { type ComponentChildren, toChildArray, type VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { useKeptFocus } from "../state/focus.js";
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { Field as Labelled, SelectField, TextField } from "../ui/field.js";
import { CloseIcon, PlusIcon } from "../ui/icons.js";
import { Control } from "./control.js";
import type { Field, Message } from "./document.js";
import { syntaxErrorOf, Unfinished } from "./json-text.js";
import { memberPath, type Part, partsOf } from "./message-parts.js";
import { Prose } from "./prose.js";
import { useRefusal, useRevealed } from "./refusal.js";

type JsonObject = Readonly<Record<string, unknown>>;
type Change = (value: unknown) => void;

interface MessageFormProps {
  readonly message: Message;
  /** Path of the message in the request; empty for the request itself. */
  readonly path: string;
  readonly value: unknown;
  /** An example of the message. Its fields are shown first. */
  readonly example?: unknown;
  readonly onChange: Change;
}

export function MessageForm({ message, path, value, example, onChange }: MessageFormProps) {
  const object = asObject(value);
  const { first, others } = partsOf(message, asObject(example));
  const [open, setOpen] = useState(false);
  const isRevealed = useRevealed();
  // A field that was set once stays, also while its text is empty, because it may have the focus.
  const kept = useRef(new Set<Part>());
  for (const part of others) {
    const isSet = part.some(({ name }) => object[name] !== undefined || isRevealed(memberPath(path, name)));
    if (isSet) kept.current.add(part);
  }
  if (message.fields.length === 0) return <p class="soft">This message has no fields.</p>;
  const folded = others.filter((part) => !kept.current.has(part)).length;
  const draw = (part: Part) => (
    <PartForm key={part.map(({ name }) => name).join()} {...{ part, path, object, example, onChange }} />
  );
  return (
    <div class="form">
      {first.map(draw)}
      {folded > 0 && (
        <Button small kind="quiet" aria-expanded={open} onClick={() => setOpen(!open)}>
          {`${open ? "▾" : "▸"} ${folded} other ${folded === 1 ? "field" : "fields"}`}
        </Button>
      )}
      {others.filter((part) => open || kept.current.has(part)).map(draw)}
    </div>
  );
}

interface PartFormProps extends Pick<MessageFormProps, "path" | "example" | "onChange"> {
  readonly part: Part;
  readonly object: JsonObject;
}

function PartForm({ part, path, object, example, onChange }: PartFormProps) {
  const [field, ...more] = part;
  if (field === undefined) return null;
  if (more.length > 0) return <ChoiceForm fields={part} path={path} value={object} onChange={onChange} />;
  return (
    <FieldForm
      field={field}
      path={memberPath(path, field.name)}
      value={object[field.name]}
      example={asObject(example)[field.name]}
      onChange={(one) => onChange(withMember(object, field.name, one))}
    />
  );
}

interface FieldFormProps {
  readonly field: Field;
  readonly path: string;
  readonly value: unknown;
  readonly example?: unknown;
  readonly onChange: Change;
}

function FieldForm(props: FieldFormProps) {
  const { field } = props;
  if (field.cardinality === "list") return <ListForm {...props} />;
  if (field.cardinality === "map") return <MapForm {...props} />;
  return <SingleForm {...props} label={field.name} />;
}

type SingleFormProps = FieldFormProps & { readonly label: string };

function SingleForm(props: SingleFormProps) {
  return props.field.message === undefined ? <ValueForm {...props} /> : <InnerForm {...props} />;
}

function ValueForm({ field, label, path, value, onChange }: SingleFormProps) {
  const refusal = useRefusal(path);
  return (
    <div data-path={path}>
      <Labelled
        error={value instanceof Unfinished ? syntaxErrorOf(value.text) : refusal}
        hint={field.cardinality === "one" ? commentOf(field) : undefined}
        label={<FieldLabel label={label} type={field.type} deprecated={field.deprecated} />}
      >
        {(control) => <Control field={field} control={control} value={value} onChange={onChange} />}
      </Labelled>
    </div>
  );
}

/** The comments of a field and of its enum; undefined for none. */
function commentOf({ description, meaning }: Field): VNode | undefined {
  if (description === "" && meaning === "") return undefined;
  return <Prose text={[description, meaning].filter((text) => text !== "").join("\n\n")} />;
}

interface FieldLabelProps {
  readonly label: string;
  readonly type: string;
  readonly deprecated: boolean;
}

function FieldLabel({ label, type, deprecated }: FieldLabelProps) {
  return (
    <>
      <code>{label}</code> <span class="field-type">{type}</span>
      {deprecated && <Badge tone="warning">deprecated</Badge>}
    </>
  );
}

interface ChoiceFormProps {
  readonly fields: readonly Field[];
  /** Path of the message that has the fields. */
  readonly path: string;
  readonly value: JsonObject;
  readonly onChange: Change;
}

/** A oneof: one of several fields, or none. */
function ChoiceForm({ fields, path, value, onChange }: ChoiceFormProps) {
  const given = fields.find(({ name }) => value[name] !== undefined);
  const [chosen, setChosen] = useState<string>();
  const field = given ?? fields.find(({ name }) => name === chosen);
  const choose = (name: string) => {
    const others = Object.entries(value).filter(([key]) => !fields.some((one) => one.name === key));
    const next = fields.find((one) => one.name === name);
    setChosen(name);
    onChange(Object.fromEntries(next === undefined ? others : [...others, [name, emptyOf(next)]]));
  };
  const label = `One of ${namesOf(fields)}`;
  const options = [["", "none"] as const, ...fields.map(({ name }) => [name, name] as const)];
  return (
    <fieldset class="form-choice" aria-label={label}>
      <SelectField label={label} options={options} value={field?.name ?? ""} onInput={choose} />
      {field && (
        <FieldForm
          key={field.name}
          field={field}
          path={memberPath(path, field.name)}
          value={value[field.name]}
          onChange={(one) => onChange(withMember(value, field.name, one))}
        />
      )}
    </fieldset>
  );
}

const MAX_NAMED = 4;

function namesOf(fields: readonly Field[]): string {
  const names = fields.slice(0, MAX_NAMED).map(({ name }) => name);
  return (fields.length > MAX_NAMED ? [...names, "…"] : names).join(", ");
}

/** An inner message. It is shown when the visitor adds it, because a message may contain itself. */
function InnerForm({ field, label, path, value, example, onChange }: SingleFormProps) {
  const group = { field, label, path, type: field.type };
  if (value === undefined || field.message === undefined) {
    return <Group {...group} action={<AddButton label={`Add ${label}`} onClick={() => onChange({})} />} />;
  }
  return (
    <Group {...group} action={<RemoveButton label={label} onClick={() => onChange(undefined)} />}>
      <InnerMessage read={field.message} path={path} value={value} example={example} onChange={onChange} />
    </Group>
  );
}

/** The message is read once, because its fields are objects of their own at each reading. */
function InnerMessage({ read, ...form }: Omit<MessageFormProps, "message"> & { readonly read: () => Message }) {
  const message = useMemo(read, []);
  return <MessageForm message={message} {...form} />;
}

function ListForm({ field, path, value, onChange }: FieldFormProps) {
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  const empty = emptyOf({ ...field, cardinality: "one" });
  const set = (next: readonly unknown[]) => onChange(next.length === 0 ? undefined : next);
  const add = <AddButton label={`Add an item to ${field.name}`} onClick={() => set([...items, empty])} />;
  return (
    <Group field={field} label={field.name} path={path} type={`list of ${field.type}`} action={add}>
      {items.map((item, index) => {
        const label = `${field.name} ${index + 1}`;
        const change: Change = (one) => set(one === undefined ? items.toSpliced(index, 1) : items.with(index, one));
        const changeText: Change = (one) => set(items.with(index, one === undefined ? empty : one));
        const one = { field, label, path: `${path}[${index}]`, value: item };
        if (field.message !== undefined) return <InnerForm key={label} {...one} onChange={change} />;
        return (
          <div key={label} class="form-item">
            <ValueForm {...one} onChange={changeText} />
            <RemoveButton label={label} onClick={() => change(undefined)} />
          </div>
        );
      })}
    </Group>
  );
}

/** An entry of a map. The ID distinguishes it from other entries while its key is being typed. */
interface Row {
  readonly id: number;
  readonly key: string;
  readonly value: unknown;
}

function MapForm({ field, path, value, onChange }: FieldFormProps) {
  const rowsRef = useRef<readonly Row[]>([]);
  // Rows store what an object cannot: equal keys while one is being typed, and the order of keys
  // that are numbers.
  if (!isSame(objectOf(rowsRef.current), asObject(value))) rowsRef.current = rowsOf(asObject(value));
  const rows = rowsRef.current;
  const empty = emptyOf({ ...field, cardinality: "one" });
  const set = (next: readonly Row[]) => {
    rowsRef.current = next;
    onChange(next.length === 0 ? undefined : objectOf(next));
  };
  const add = () => set([...rows, newRow(freeKey(rows), empty)]);
  const action = <AddButton label={`Add an entry to ${field.name}`} onClick={add} />;
  return (
    <Group field={field} label={field.name} path={path} type={`map to ${field.type}`} action={action}>
      {rows.map((row, index) => {
        const label = `${field.name} ${index + 1}`;
        const isRepeated = rows.some(({ key }, at) => at > index && key === row.key);
        return (
          <div key={row.id} class="form-item form-entry">
            <TextField
              label={<code>{`${label} key`}</code>}
              error={isRepeated ? "Given again below" : undefined}
              value={row.key}
              onInput={(key) => set(rows.with(index, { ...row, key }))}
            />
            <SingleForm
              field={field}
              label={`${label} value`}
              path={memberPath(path, row.key)}
              value={row.value}
              onChange={(one) => set(rows.with(index, { ...row, value: one === undefined ? empty : one }))}
            />
            <RemoveButton label={label} onClick={() => set(rows.toSpliced(index, 1))} />
          </div>
        );
      })}
    </Group>
  );
}

let rowsMade = 0;

function newRow(key: string, value: unknown): Row {
  return { id: ++rowsMade, key, value };
}

function rowsOf(object: JsonObject): Row[] {
  return Object.entries(object).map(([key, value]) => newRow(key, value));
}

function objectOf(rows: readonly Row[]): JsonObject {
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
}

function isSame(one: JsonObject, other: JsonObject): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function freeKey(rows: readonly Row[]): string {
  let count = rows.length + 1;
  while (rows.some(({ key }) => key === `${count}`)) count++;
  return `${count}`;
}

interface GroupProps {
  readonly field: Field;
  readonly label: string;
  readonly path: string;
  readonly type: string;
  /** The button that adds to the group, or removes the group. */
  readonly action: VNode;
  readonly children?: ComponentChildren;
}

/** Several controls with one name. */
function Group({ field, label, path, type, action, children }: GroupProps) {
  const fieldset = useRef<HTMLFieldSetElement>(null);
  useKeptFocus(fieldset);
  const refusal = useRefusal(path);
  // The comment of a list is not repeated for its items.
  const comment = label === field.name ? commentOf(field) : undefined;
  return (
    <fieldset class="form-group" aria-label={label} data-path={path} ref={fieldset}>
      <div class="form-line">
        <span class="label">
          <FieldLabel label={label} type={type} deprecated={field.deprecated} />
        </span>
        {action}
      </div>
      {comment && <div class="hint">{comment}</div>}
      {refusal !== undefined && <p class="field-error">{refusal}</p>}
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
  // The member stays in its place, so that the JSON text does not jump.
  return before === undefined ? { ...object, [name]: member } : replaced(object, name, member);
}

function replaced(object: JsonObject, name: string, member: unknown): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, key === name ? member : value]));
}

/** The first value of a field that is added. */
function emptyOf({ kind, cardinality, values }: Field): unknown {
  if (cardinality === "list") return [];
  if (cardinality === "map" || kind === "message" || kind === "json") return {};
  if (kind === "number") return 0;
  if (kind === "boolean") return false;
  return kind === "enum" ? values[0] : "";
}
