/** Hides the secrets of a request, such as passwords, when the request is shown or copied. */
import type { Field, Message } from "./document.js";

const HIDDEN = "***";

/** A request in which each secret that was given is `***`. */
export function withoutSecrets(message: Message | undefined, value: unknown): unknown {
  if (message === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = new Map(message.fields.map((field) => [field.name, field]));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const field = fields.get(name) ?? fields.get(lowerCamelCase(name));
      return [name, field === undefined ? member : hidden(field, member)];
    }),
  );
}

function hidden(field: Field, value: unknown): unknown {
  if (field.secret) return value === "" || value === null ? value : HIDDEN;
  if (field.message === undefined) return value;
  const message = field.message();
  if (field.cardinality === "list" && Array.isArray(value)) return value.map((one) => withoutSecrets(message, one));
  if (field.cardinality !== "map" || typeof value !== "object" || value === null) return withoutSecrets(message, value);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutSecrets(message, one)]));
}

/** The JSON name of a field. A request may also use the name in the .proto file. */
export function lowerCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
