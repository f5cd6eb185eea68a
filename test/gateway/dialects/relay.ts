/** The service of relay.proto, and a Portico with it. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { isBinaryName, type Metadata } from "../../../src/call/metadata.js";
import { readDescriptors } from "../../../src/contract/endpoint.js";
import { type Code, StatusError } from "../../../src/errors.js";
import { type Context, part, type Service } from "../../../src/rpc/service.js";
import { BYTES } from "../../rpc/raw-service.js";
import { buildAnnotated } from "../../support/descriptors.js";

const descriptors = buildAnnotated("test/gateway/dialects", "relay.proto");
const types = readDescriptors(descriptors);

interface Pair {
  readonly name: string;
  readonly value: string;
}

interface Note {
  readonly text: string;
  readonly type: string;
  readonly headers: readonly Pair[];
  readonly trailers: readonly Pair[];
  readonly code: number;
}

function typeNamed(name: string): DescMessage {
  return types.getMessage(name) as DescMessage;
}

function bytesOf(name: string, fields: object): Buffer {
  const type = typeNamed(name);
  return Buffer.from(toBinary(type, create(type, fields as MessageInitShape<DescMessage>)));
}

function noteOf(bytes: Buffer): Note {
  return fromBinary(typeNamed("relay.Note"), bytes) as MessageShape<DescMessage> & Note;
}

const metadataOf = (pairs: readonly Pair[]): Metadata =>
  pairs.map(({ name, value }) => [name, isBinaryName(name) ? Buffer.from(value) : value]);

/** Sends the metadata that the note asks for, and fails if the note asks for that. */
function relay(note: Note, context: Context): void {
  if (note.headers.length > 0) context.sendHeaders(metadataOf(note.headers));
  context.setTrailers(metadataOf(note.trailers));
  if (note.code !== 0) throw new StatusError(note.code as Code, note.text);
}

function answerOf(note: Note, { metadata }: Context): Buffer {
  const received = Object.fromEntries(metadata.map(([name, value]) => [name, String(value)]));
  return bytesOf("relay.Note", { text: note.text, received });
}

const method = (name: string) =>
  ({ path: `/relay.Relay/${name}`, requestStream: false, responseStream: false, ...BYTES }) as const;

/** @param metadata names of the metadata that passes */
export function createRelay(metadata: readonly string[] = []): Service {
  const definition = {
    call: method("Call"),
    hide: method("Hide"),
    raw: method("Raw"),
    twice: { ...method("Twice"), responseStream: true as const },
    take: { ...method("Take"), requestStream: true as const },
  };
  return {
    name: "relay",
    descriptors,
    metadata,
    parts: [
      part(definition, {
        call(request, context) {
          const note = noteOf(request);
          relay(note, context);
          return answerOf(note, context);
        },
        hide: (request) => bytesOf("relay.Secrets", { secrets: [{ text: noteOf(request).text }] }),
        raw(request, context) {
          const note = noteOf(request);
          relay(note, context);
          return bytesOf("google.api.HttpBody", { contentType: note.type, data: Buffer.from(note.text) });
        },
        async *twice(request, context) {
          const note = noteOf(request);
          relay(note, context);
          yield answerOf(note, context);
          yield answerOf(note, context);
        },
        async take(requests, context) {
          let bytes = 0;
          for await (const request of requests) bytes += request.length;
          context.sendHeaders([["x-taken", "yes"]]);
          return bytesOf("relay.Note", { text: `${bytes}` });
        },
      }),
    ],
  };
}
