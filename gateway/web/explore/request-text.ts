/**
 * A request in a form that may be written to the address and to storage: without secret fields, and
 * without anything that looks like a token.
 */
import type { EndpointDocument, Field, Message } from "./document.js";
import { errorOf, parseExact } from "./json-text.js";
import { fieldOf } from "./secrets.js";

/** The start of a token. Any text that begins so is treated as a token (src/call/token.ts). */
const TOKEN = /pt[aekrcdsx]_[0-9A-Za-z]*/gi;

export function withoutTokens(text: string): string {
  return text.replaceAll(TOKEN, "");
}

/**
 * The text of a request without secrets. Undefined if the secrets cannot be found: there is no
 * document that names the secret fields, or the text is not JSON yet and may have secret fields.
 */
export function storableText(described: EndpointDocument | undefined, text: string): string | undefined {
  if (described === undefined) return undefined;
  const { request } = described;
  if (errorOf(text) !== undefined) {
    return request !== undefined && hasSecrets(request) ? undefined : withoutTokens(text);
  }
  const value = parseExact(text);
  const clean = cleaned(request, value);
  const isClean = withoutTokens(text) === text && JSON.stringify(clean) === JSON.stringify(value);
  return isClean ? text : JSON.stringify(clean, null, 2);
}

function cleaned(message: Message | undefined, value: unknown): unknown {
  if (typeof value === "string") return withoutTokens(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((one) => cleaned(message, one));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const field = message && fieldOf(message, name);
      return field?.secret ? [] : [[withoutTokens(name), cleanedField(field, member)]];
    }),
  );
}

function cleanedField(field: Field | undefined, value: unknown): unknown {
  const message = field?.message?.();
  if (field?.cardinality !== "map" || typeof value !== "object" || value === null) return cleaned(message, value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [withoutTokens(key), cleaned(message, one)]));
}

/** Whether a message, or a message inside it, has a secret field. */
function hasSecrets(message: Message, seen = new Set<string>()): boolean {
  const id = `${message.name} ${message.fields.map(({ name }) => name).join()}`;
  if (seen.has(id)) return false;
  seen.add(id);
  return message.fields.some((field) => field.secret || (field.message && hasSecrets(field.message(), seen)));
}

/** The members of a request, at any depth, that its message does not have: `items[0].nam`. */
export function unknownFields(message: Message, value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const field = fieldOf(message, name);
    const at = path === "" ? name : `${path}.${name}`;
    if (field === undefined) return [at];
    if (field.message === undefined) return [];
    const inner = field.message();
    if (field.cardinality === "list" && Array.isArray(member)) {
      return member.flatMap((one, index) => unknownFields(inner, one, `${at}[${index}]`));
    }
    return field.cardinality === "one" ? unknownFields(inner, member, at) : [];
  });
}
