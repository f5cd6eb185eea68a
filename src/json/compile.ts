/**
 * Makes codecs between JSON text and wire bytes for the message types of a registry.
 *
 * A type is compiled at its first use, into objects and closures that hold what is known about its
 * fields. No source code is generated, because anyone may send descriptors.
 *
 *     read/    JSON to wire: `Scanner` reads the text, `ObjectReader` a message, and
 *              `WireWriter` writes its wire bytes
 *     write/   wire to JSON: `WireReader` reads the bytes, `Layout` finds the fields, and
 *              `ObjectWriter` writes to `TextWriter`
 */
import { Buffer, constants } from "node:buffer";
import type { DescField, DescMessage, Registry } from "@bufbuild/protobuf";
import type { MessageCodec } from "./codec.js";
import { FieldCodec, fieldValueReader, typeOfField } from "./field-codec.js";
import type { JsonMessageReader, Readers } from "./read/field.js";
import { ObjectReader } from "./read/message.js";
import { queryJson } from "./read/query.js";
import { Scanner } from "./read/scanner.js";
import { wellKnownReader } from "./read/well-known.js";
import { WireWriter } from "./read/wire-writer.js";
import { extensionsByType, type FindMessage, hasOwnForm, type JsonStyle } from "./types.js";
import type { MessageWriter, MessageWriters } from "./write/field.js";
import { ObjectWriter } from "./write/message.js";
import { TextWriter } from "./write/text-writer.js";
import { wellKnownWriter } from "./write/well-known.js";
import { WireReader } from "./write/wire-reader.js";

export interface CodecOptions extends JsonStyle {
  /**
   * Maximum size in bytes of a message that is read from JSON. Default 4 MiB. JSON that is written
   * may be eight times as large.
   */
  readonly maxMessage?: number | undefined;
  /**
   * Finds types for google.protobuf.Any that the registry lacks. It is called at each use, because
   * the types that it knows may change.
   */
  readonly findOther?: FindMessage | undefined;
}

const MAX_MESSAGE = 4 * 1024 ** 2;
/**
 * The maximum size of JSON, as a multiple of the largest message. The values of a message grow to
 * at most six times their size (control characters). Names and zeros have no such bound: an empty
 * message in a list takes two bytes.
 */
const MAX_JSON_RATIO = 8;
/**
 * The maximum number of bytes that may be copied to merge the parts of fields, level by level, as a
 * multiple of the largest message. No serializer splits a field, but appending one message to
 * another is a way to merge them.
 */
const MAX_COPIES = 4;

/** A message type of a registry, or one field of such a type, whose JSON is the field's value. */
export type CodecType = DescMessage | DescField;

/** Returns a function from a type to its codec. It returns the same codec for a type each time. */
export function compileCodecs(registry: Registry, options: CodecOptions = {}): (type: CodecType) => MessageCodec {
  const extensions = extensionsByType(registry);
  const extensionsOf = ({ typeName }: DescMessage) => extensions.get(typeName) ?? [];
  const find = (name: string) => registry.getMessage(name) ?? options.findOther?.(name);
  const { ignoreUnknown = false } = options;
  const readers: Readers = {
    of: memoized(
      (type: DescMessage) =>
        wellKnownReader(type, find, readers) ?? new ObjectReader(type, extensionsOf(type), readers),
    ),
    ignoreUnknown,
  };
  const writerOf: MessageWriters = memoized(
    (type) => wellKnownWriter(type, find, writerOf) ?? new ObjectWriter(type, extensionsOf(type), writerOf, options),
  );
  const maxMessage = options.maxMessage ?? MAX_MESSAGE;
  const messageCodec = memoized((type: DescMessage) => {
    return new CompiledCodec(type, readers.of(type), writerOf(type), maxMessage, ignoreUnknown);
  });
  const fieldCodec = memoized((field: DescField) => {
    const type = typeOfField(field);
    const writer = new ObjectWriter(type, [], writerOf, {});
    const { message } = field;
    const absent = () => (message === undefined || hasOwnForm(message) ? "null" : messageCodec(message).write(NOTHING));
    const codec = new CompiledCodec(type, fieldValueReader(field, readers), writer, maxMessage, ignoreUnknown);
    return new FieldCodec(codec, field, absent);
  });
  return (type) => (type.kind === "message" ? messageCodec(type) : fieldCodec(type));
}

const NOTHING = new Uint8Array(0);

// Shared by all codecs: reading and writing are synchronous, so two calls never use them at the
// same time.
const scanner = new Scanner();
const wireWriter = new WireWriter();
const wireReader = new WireReader();
const textWriter = new TextWriter();

class CompiledCodec implements MessageCodec {
  readonly #maxText: number;

  constructor(
    readonly type: DescMessage,
    readonly reader: JsonMessageReader,
    readonly writer: MessageWriter,
    readonly maxMessage: number,
    readonly ignoreUnknown: boolean,
  ) {
    this.#maxText = Math.min(maxMessage * MAX_JSON_RATIO, constants.MAX_STRING_LENGTH);
  }

  read(json: Uint8Array): Uint8Array {
    scanner.begin(json, this.type);
    wireWriter.begin(json.length, this.maxMessage);
    try {
      if (scanner.peek() < 0) throw scanner.malformed("a value");
      this.reader.read(scanner, wireWriter);
      if (scanner.peek() >= 0) throw scanner.malformed("nothing after the value");
      return wireWriter.finish();
    } catch (error) {
      wireWriter.abandon();
      throw error;
    } finally {
      scanner.finish();
    }
  }

  write(wire: Uint8Array): string {
    wireReader.begin(wire, this.maxMessage * MAX_COPIES);
    textWriter.begin(this.#maxText);
    try {
      this.writer.write(wireReader, textWriter, wire.length);
      return textWriter.finish();
    } finally {
      wireReader.finish();
      textWriter.clear();
    }
  }

  writeBody(wire: Uint8Array): string | Uint8Array {
    wireReader.begin(wire, this.maxMessage * MAX_COPIES);
    textWriter.begin(this.#maxText, wire.length);
    try {
      this.writer.write(wireReader, textWriter, wire.length);
      return textWriter.finishBody();
    } finally {
      wireReader.finish();
      textWriter.clear();
    }
  }

  readQuery(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array {
    return this.read(Buffer.from(queryJson(this.type, parameters, this.ignoreUnknown), "utf8"));
  }
}

function memoized<K, T>(make: (type: K) => T): (type: K) => T {
  const made = new Map<K, T>();
  return (type) => {
    let result = made.get(type);
    if (result === undefined) {
      result = make(type);
      made.set(type, result);
    }
    return result;
  };
}
