/** Which fields of a message a form shows first, and which ones it folds away. */
import type { Field, Message } from "./document.js";

/** A field, or the fields of a oneof, which are chosen together. */
export type Part = readonly Field[];

/** With fewer other fields, the form shows them. */
const MIN_FOLDED = 3;
/** The number of fields that are shown first if nothing says which ones are used. */
const MAX_UNDOCUMENTED = 4;

const partsOfMessage = new WeakMap<Message, { readonly first: readonly Part[]; readonly others: readonly Part[] }>();

/**
 * The fields to show first: those in the example, or with an example in their comment. proto3 has
 * no required fields that would say which ones a call needs.
 */
export function partsOf(message: Message, example: object) {
  const known = partsOfMessage.get(message);
  if (known !== undefined) return known;
  const single = message.fields.filter(({ name }) => !message.choices.some((choice) => choice.includes(name)));
  const choices = message.choices.map((names) => message.fields.filter(({ name }) => names.includes(name)));
  const all: readonly Part[] = [...single.map((field) => [field]), ...choices];
  const partsWith = (isUsed: (field: Field) => boolean) =>
    all.filter((part) => part.some((field) => !field.deprecated && (field.required || isUsed(field))));
  const inExample = partsWith(({ name }) => Object.hasOwn(example, name));
  // A generated example may have every field, which says nothing about their use.
  const used =
    inExample.length === 0 || inExample.length === all.length ? partsWith((field) => field.example !== "") : inExample;
  const first = used.length > 0 ? used : all.slice(0, MAX_UNDOCUMENTED);
  const others = all.filter((part) => !first.includes(part));
  const parts = others.length < MIN_FOLDED ? { first: all, others: [] } : { first, others };
  partsOfMessage.set(message, parts);
  return parts;
}

/** The path of a field, or of an entry of a map, in the message at `path`. */
export function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_$@][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}
