/** The bytes fields in the JSON of a response: what they are, and the JSON without them. */
import type { Field, Message } from "./document.js";
import { bytesOf, type Media, mediaOf } from "./media.js";
import { memberPath } from "./message-parts.js";
import { fieldOf } from "./secrets.js";

export interface ResponseBytes {
  /** Path of the field, such as `items[0].image`. */
  readonly path: string;
  readonly base64: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly media: Media;
}

/** Maximum bytes fields of a response that are shown, and whose base64 is folded. */
const MAX_SHOWN = 20;
/** Base64 that is not longer stays as it is, unless it is an image or audio. */
const SHORT = 120;

/** The bytes fields worth showing: images, audio, and what is long. */
export function bytesIn(message: Message | undefined, text: string): ResponseBytes[] {
  if (message === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  const found: ResponseBytes[] = [];
  for (const { path, base64 } of fieldsOf(message, value, "")) {
    const bytes = bytesOf(base64);
    if (bytes === undefined || bytes.length === 0) continue;
    const media = mediaOf(bytes);
    const isShown = media.kind === "image" || media.kind === "audio" || base64.length > SHORT;
    if (isShown) found.push({ path, base64, bytes, media });
    if (found.length === MAX_SHOWN) break;
  }
  return found;
}

/** The JSON text with `‹1.5 kB, PNG, 256×256›` in place of the base64. */
export function folded(text: string, shown: readonly ResponseBytes[]): string {
  const fold = (rest: string, { base64, media }: ResponseBytes) =>
    rest.replaceAll(`"${base64}"`, `"‹${media.summary}›"`);
  return shown.filter(({ base64 }) => base64.length > SHORT).reduce(fold, text);
}

function* fieldsOf(message: Message, value: unknown, path: string): Generator<{ path: string; base64: string }> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    const field = fieldOf(message, name);
    if (field !== undefined) yield* membersOf(field, member, memberPath(path, name));
  }
}

function* membersOf(field: Field, value: unknown, path: string): Generator<{ path: string; base64: string }> {
  if (field.cardinality === "list" && Array.isArray(value)) {
    for (const [index, one] of value.entries()) yield* singleOf(field, one, `${path}[${index}]`);
  } else if (field.cardinality === "map" && typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) yield* singleOf(field, one, memberPath(path, key));
  } else {
    yield* singleOf(field, value, path);
  }
}

function* singleOf(
  { kind, message }: Field,
  value: unknown,
  path: string,
): Generator<{ path: string; base64: string }> {
  if (kind === "bytes" && typeof value === "string") yield { path, base64: value };
  if (message !== undefined) yield* fieldsOf(message(), value, path);
}
