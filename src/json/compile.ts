/**
 * Codecs between JSON text and wire bytes, for the message types of a registry.
 *
 * A type is compiled when it is first met, into objects and closures that know all there is to know about its fields:
 * names as bytes, tags, which reader and writer, what to do when a field is not there. No message object is ever made
 * in between, and no source code: descriptors may come from anyone, and closures do well enough.
 *
 *     read/    JSON to wire: `Scanner` walks the text, `ObjectReader` reads a message, `WireWriter` takes what it makes
 *     write/   wire to JSON: `WireReader` walks the bytes, `Layout` finds the fields, `ObjectWriter` writes a message to
 *              `TextWriter`
 */
import { Buffer, constants } from "node:buffer";
import type { DescExtension, DescMessage, FileRegistry } from "@bufbuild/protobuf";
import type { Codec } from "./codec.js";
import { anyReader } from "./read/any.js";
import type { MessageReader } from "./read/field.js";
import { ObjectReader } from "./read/message.js";
import { queryJson } from "./read/query.js";
import { Scanner } from "./read/scanner.js";
import { wellKnownReader } from "./read/well-known.js";
import { WireWriter } from "./read/wire-writer.js";
import { anyWriter } from "./write/any.js";
import type { MessageWriter } from "./write/field.js";
import { ObjectWriter } from "./write/message.js";
import { TextWriter } from "./write/text-writer.js";
import { wellKnownWriter } from "./write/well-known.js";
import { WireReader } from "./write/wire-reader.js";

export interface CodecOptions {
  /** Leaves fields without presence out of the JSON when they are zero or empty, as proto3 JSON does unless told otherwise. */
  readonly omitZeros?: boolean;
  /** Most bytes of a message that JSON is read to, and eighth part of the longest JSON that is written; default 4 MiB. */
  readonly maxMessage?: number | undefined;
}

const MAX_MESSAGE = 4 * 1024 ** 2;
/**
 * How many times as long as the largest message JSON may be. What is in a message becomes six times as long at most (a
 * control character), but for names and zeros: they have no bound, as an empty message in a list takes two bytes.
 */
const LONGEST_JSON = 8;
/**
 * How many times the largest message may be copied: what is in pieces, within what is in pieces. No serializer makes any,
 * but to append one message to another is a way to merge them.
 */
const MOST_COPIES = 4;

/**
 * A function that gives the codec of a message type, the same one each time. `registry` has the types that an Any may
 * hold, and the extensions.
 */
export function compileCodecs(registry: FileRegistry, options: CodecOptions = {}): (type: DescMessage) => Codec {
  const readerOf = readersOf(registry);
  const writerOf = writersOf(registry, options.omitZeros === true);
  const maxMessage = options.maxMessage ?? MAX_MESSAGE;
  return memoized((type) => new CompiledCodec(type, readerOf(type), writerOf(type), maxMessage));
}

// What a call needs besides, and the next may have again: no call waits for anything before it is done with it.
const scanner = new Scanner();
const wireWriter = new WireWriter();
const wireReader = new WireReader();
const textWriter = new TextWriter();

class CompiledCodec implements Codec {
  readonly #type: DescMessage;
  readonly #reader: MessageReader;
  readonly #writer: MessageWriter;
  readonly #maxMessage: number;
  readonly #maxText: number;

  constructor(type: DescMessage, reader: MessageReader, writer: MessageWriter, maxMessage: number) {
    this.#type = type;
    this.#reader = reader;
    this.#writer = writer;
    this.#maxMessage = maxMessage;
    this.#maxText = Math.min(maxMessage * LONGEST_JSON, constants.MAX_STRING_LENGTH);
  }

  read(json: Uint8Array): Uint8Array {
    scanner.begin(json);
    wireWriter.begin(json.length, this.#maxMessage);
    try {
      if (scanner.peek() < 0) throw scanner.malformed("a value");
      this.#reader.read(scanner, wireWriter);
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
    wireReader.begin(wire, this.#maxMessage * MOST_COPIES);
    textWriter.begin(this.#maxText);
    try {
      this.#writer.write(wireReader, textWriter, wire.length);
      return textWriter.finish();
    } finally {
      wireReader.finish();
      textWriter.clear();
    }
  }

  writeBody(wire: Uint8Array): string | Uint8Array {
    wireReader.begin(wire, this.#maxMessage * MOST_COPIES);
    textWriter.begin(this.#maxText, wire.length);
    try {
      this.#writer.write(wireReader, textWriter, wire.length);
      return textWriter.finishBody();
    } finally {
      wireReader.finish();
      textWriter.clear();
    }
  }

  readQuery(parameters: Iterable<readonly [name: string, value: string]>): Uint8Array {
    return this.read(Buffer.from(queryJson(this.#type, parameters), "utf8"));
  }
}

function readersOf(registry: FileRegistry): (type: DescMessage) => MessageReader {
  const extensions = extensionsByType(registry);
  const readerOf: (type: DescMessage) => MessageReader = memoized((type) =>
    type.typeName === "google.protobuf.Any"
      ? anyReader((name) => registry.getMessage(name), readerOf)
      : (wellKnownReader(type, readerOf) ?? new ObjectReader(type, extensions.get(type.typeName) ?? [], readerOf)),
  );
  return readerOf;
}

function writersOf(registry: FileRegistry, omitZeros: boolean): (type: DescMessage) => MessageWriter {
  const extensions = extensionsByType(registry);
  const writerOf: (type: DescMessage) => MessageWriter = memoized((type) =>
    type.typeName === "google.protobuf.Any"
      ? anyWriter((name) => registry.getMessage(name), writerOf)
      : (wellKnownWriter(type) ?? new ObjectWriter(type, extensions.get(type.typeName) ?? [], writerOf, omitZeros)),
  );
  return writerOf;
}

function extensionsByType(registry: FileRegistry): ReadonlyMap<string, DescExtension[]> {
  const byType = new Map<string, DescExtension[]>();
  for (const type of registry) {
    if (type.kind !== "extension") continue;
    const extensions = byType.get(type.extendee.typeName);
    if (extensions === undefined) byType.set(type.extendee.typeName, [type]);
    else extensions.push(type);
  }
  return byType;
}

function memoized<T>(make: (type: DescMessage) => T): (type: DescMessage) => T {
  const made = new Map<DescMessage, T>();
  return (type) => {
    let result = made.get(type);
    if (result === undefined) {
      result = make(type);
      made.set(type, result);
    }
    return result;
  };
}
