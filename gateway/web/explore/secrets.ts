/** Hides the secrets of a request, such as passwords, when the request is shown or copied. */
import type { Field, Message } from "./document.js";

const HIDDEN = "***";

/** A request in which each secret that was given is `***`. */
export function withoutSecrets(message: Message | undefined, value: unknown): unknown {
  if (message === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const field = fieldOf(message, name);
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

/**
 * The field of a member. Documents have one name of each field. A request may use the one in the
 * .proto file or the one in lowerCamelCase.
 */
export function fieldOf({ fields }: Message, name: string): Field | undefined {
  const camel = lowerCamelCase(name);
  return fields.find((one) => one.name === name) ?? fields.find((one) => lowerCamelCase(one.name) === camel);
}

export function lowerCamelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
