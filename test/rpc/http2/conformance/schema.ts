/**
 * Shared parts of the programs under test of connectrpc's conformance runner: the runner's
 * messages, read from its own descriptors, and its protocol on stdin and stdout. There each message
 * has its length in four bytes before it.
 */
import { readFileSync } from "node:fs";
import { create, createFileRegistry, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Metadata } from "../../../../src/call/metadata.js";
import type { MethodDefinition } from "../../../../src/rpc/definition.js";

const PACKAGE = "connectrpc.conformance.v1";
export const SERVICE = `${PACKAGE}.ConformanceService`;

/**
 * A google.protobuf.FileDescriptorSet. conformance.outside.ts creates it from the runner's module.
 */
export const descriptors = readFileSync(process.env.CONFORMANCE_DESCRIPTORS ?? "");
const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors));

// biome-ignore lint/suspicious/noExplicitAny: the messages are known only by their descriptors.
export type Message = any;

export function type(name: string): DescMessage {
  const found = registry.getMessage(`${PACKAGE}.${name}`);
  if (found === undefined) throw new Error(`no message ${name}`);
  return found;
}

export const make = (name: string, value: object): Message => create(type(name), value as never);
export const encode = (name: string, value: object): Buffer =>
  Buffer.from(toBinary(type(name), create(type(name), value as never)));
export const decode = (name: string, bytes: Uint8Array): Message => fromBinary(type(name), bytes);

export const pack = (name: string, message: Message) => ({
  typeUrl: `type.googleapis.com/${PACKAGE}.${name}`,
  value: toBinary(type(name), message),
});

type Shape<Q, S> = MethodDefinition<Message, Message> & { readonly requestStream: Q; readonly responseStream: S };

function method<Q extends boolean, S extends boolean>(name: string, requestStream: Q, responseStream: S): Shape<Q, S> {
  return {
    path: `/${SERVICE}/${name}`,
    requestStream,
    responseStream,
    requestSerialize: (value) => Buffer.from(toBinary(type(`${name}Request`), value)),
    requestDeserialize: (bytes) => decode(`${name}Request`, bytes),
    responseSerialize: (value) => encode(`${name}Response`, value),
    responseDeserialize: (bytes) => decode(`${name}Response`, bytes),
  };
}

export const METHODS = {
  unary: method("Unary", false, false),
  idempotentUnary: method("IdempotentUnary", false, false),
  unimplemented: method("Unimplemented", false, false),
  serverStream: method("ServerStream", false, true),
  clientStream: method("ClientStream", true, false),
  bidiStream: method("BidiStream", true, true),
};

export function toHeaders(metadata: Metadata): object[] {
  const values = new Map<string, string[]>();
  for (const [name, value] of metadata) {
    const text = typeof value === "string" ? value : Buffer.from(value).toString("base64").replace(/=+$/, "");
    values.set(name, [...(values.get(name) ?? []), text]);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}

export function fromHeaders(headers: Message[]): Metadata {
  return headers.flatMap(({ name, value }) =>
    value.map((one: string) => {
      const key = name.toLowerCase();
      return [key, key.endsWith("-bin") ? Buffer.from(one, "base64") : one] as const;
    }),
  );
}

export async function* readMessages(name: string): AsyncGenerator<Message> {
  let pending = Buffer.alloc(0);
  for await (const chunk of process.stdin) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE()) {
      const end = 4 + pending.readUInt32BE();
      yield decode(name, pending.subarray(4, end));
      pending = pending.subarray(end);
    }
  }
}

export function writeMessage(name: string, value: object): void {
  const bytes = encode(name, value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  process.stdout.write(Buffer.concat([length, bytes]));
}
