/**
 * The codec of one field of a message. Its JSON is the field's value, and its wire bytes are a
 * message with only that field. With it, the body of a request or response can be one field of a
 * message.
 */
import { Buffer } from "node:buffer";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { LOWER_N } from "./bytes.js";
import type { MessageCodec } from "./codec.js";
import { fieldReader, type JsonMessageReader, type Readers, takesNull } from "./read/field.js";
import { NULL } from "./read/scalars.js";

/**
 * A message type that has only this field, and no oneof. It has another name than the message, so
 * no extension belongs to it.
 */
export function typeOfField(field: DescField): DescMessage {
  const { parent } = field;
  const only = { ...field, oneof: undefined } as DescField;
  return { ...parent, typeName: `${parent.typeName}.${field.name}`, fields: [only], members: [only], oneofs: [] };
}

/**
 * Reads the value of a field, and writes it with its tag. Null means that the field is absent,
 * unless null is a value of its type.
 */
export function fieldValueReader(field: DescField, readers: Readers): JsonMessageReader {
  const read = fieldReader(field, readers);
  const nullable = !takesNull(field);
  return {
    read(s, w) {
      if (nullable && s.src[s.pos] === LOWER_N) s.literal(NULL);
      else read(s, w);
    },
  };
}

/** Takes the field's value from the JSON of a message that has only this field. */
export class FieldCodec implements MessageCodec {
  readonly #codec: MessageCodec;
  readonly #before: string;
  readonly #bytesBefore: number;
  readonly #absent: () => string;

  /**
   * @param codec for the type that has only this field
   * @param absent returns the JSON for an absent field
   */
  constructor(codec: MessageCodec, { jsonName }: DescField, absent: () => string) {
    this.#codec = codec;
    this.#before = `{${JSON.stringify(jsonName)}:`;
    this.#bytesBefore = Buffer.byteLength(this.#before);
    this.#absent = absent;
  }

  read(json: Uint8Array): Uint8Array {
    return this.#codec.read(json);
  }

  write(wire: Uint8Array): string {
    const json = this.#codec.write(wire);
    return json === "{}" ? this.#absent() : json.slice(this.#before.length, -1);
  }

  writeBody(wire: Uint8Array): string | Uint8Array {
    const json = this.#codec.writeBody(wire);
    if (json.length === "{}".length) return this.#absent();
    return typeof json === "string" ? json.slice(this.#before.length, -1) : json.subarray(this.#bytesBefore, -1);
  }

  readQuery(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array {
    return this.#codec.readQuery(parameters);
  }
}
