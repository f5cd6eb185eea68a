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
import { Buffer } from "node:buffer";
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

/**
 * A function that gives the codec of a message type, the same one each time. `registry` has the types that an Any may
 * hold, and the extensions.
 */
export function compileCodecs(registry: FileRegistry): (type: DescMessage) => Codec {
  const readerOf = readersOf(registry);
  const writerOf = writersOf(registry);
  // Calls do not wait for anything, so all codecs can share these.
  const scanner = new Scanner();
  const wire = new WireWriter();
  const reader = new WireReader();
  const text = new TextWriter();
  return memoized((type) => new CompiledCodec(type, readerOf(type), writerOf(type), scanner, wire, reader, text));
}

class CompiledCodec implements Codec {
  readonly #type: DescMessage;
  readonly #messageReader: MessageReader;
  readonly #messageWriter: MessageWriter;
  readonly #scanner: Scanner;
  readonly #wire: WireWriter;
  readonly #reader: WireReader;
  readonly #text: TextWriter;

  constructor(
    type: DescMessage,
    messageReader: MessageReader,
    messageWriter: MessageWriter,
    scanner: Scanner,
    wire: WireWriter,
    reader: WireReader,
    text: TextWriter,
  ) {
    this.#type = type;
    this.#messageReader = messageReader;
    this.#messageWriter = messageWriter;
    this.#scanner = scanner;
    this.#wire = wire;
    this.#reader = reader;
    this.#text = text;
  }

  read(json: Uint8Array): Uint8Array {
    const s = this.#scanner;
    const w = this.#wire;
    s.begin(json);
    w.begin(json.length);
    try {
      if (s.peek() < 0) throw s.malformed("a value");
      this.#messageReader.read(s, w);
      if (s.peek() >= 0) throw s.malformed("nothing after the value");
      return w.finish();
    } catch (error) {
      w.abandon();
      throw error;
    } finally {
      s.finish();
    }
  }

  write(wire: Uint8Array): string {
    const r = this.#reader;
    const out = this.#text;
    r.begin(wire);
    out.begin();
    try {
      this.#messageWriter.write(r, out, wire.length);
      return out.finish();
    } finally {
      r.finish();
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

function writersOf(registry: FileRegistry): (type: DescMessage) => MessageWriter {
  const extensions = extensionsByType(registry);
  const writerOf: (type: DescMessage) => MessageWriter = memoized((type) =>
    type.typeName === "google.protobuf.Any"
      ? anyWriter((name) => registry.getMessage(name), writerOf)
      : (wellKnownWriter(type) ?? new ObjectWriter(type, extensions.get(type.typeName) ?? [], writerOf)),
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
