/** The service of the examples in docs/streams.md, with a Portico in this process. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Test } from "tap";
import { readDescriptors } from "../../src/contract/endpoint.js";
import type { MethodDefinition } from "../../src/rpc/definition.js";
import { part, type Service } from "../../src/rpc/service.js";
import { ADMIN_PASSWORD, deploy, login } from "../gateway/deployment.js";
import { buildDescriptors } from "../support/descriptors.js";

const descriptors = buildDescriptors(
  "test/gateway/dialects/json/streams",
  "test/gateway/dialects/json/streams/studio.proto",
);
const types = readDescriptors(descriptors);

interface Line {
  readonly text: string;
}
interface Body {
  readonly contentType: string;
  readonly data: Uint8Array;
}
interface Picture {
  readonly title: string;
  readonly file: Uint8Array;
}
interface Kept {
  readonly title?: string;
  readonly contentType?: string;
  readonly bytes: number;
}

function codec<T>(name: string) {
  const schema = types.getMessage(name);
  if (schema === undefined) throw new Error(`no ${name}`);
  return {
    read: (bytes: Buffer) => fromBinary(schema, bytes) as unknown as T,
    write: (message: T) => Buffer.from(toBinary(schema, create(schema, message as Record<string, unknown>))),
  };
}

type Codec<T> = ReturnType<typeof codec<T>>;
const line = codec<Line>("studio.Line");
const picture = codec<Picture>("studio.AddRequest");
const title = codec<{ readonly title: string }>("studio.ShowRequest");
const kept = codec<Kept>("studio.Kept");
const body = codec<Body>("google.api.HttpBody");

function method<A, B, I extends boolean, O extends boolean>(
  name: string,
  input: Codec<A>,
  output: Codec<B>,
  requestStream: I,
  responseStream: O,
): MethodDefinition<A, B> & { readonly requestStream: I; readonly responseStream: O } {
  return {
    ...{ path: `/studio.Studio/${name}`, requestStream, responseStream },
    ...{ requestSerialize: input.write, requestDeserialize: input.read },
    ...{ responseSerialize: output.write, responseDeserialize: output.read },
  };
}

const methods = {
  talk: method("Talk", line, line, true, true),
  show: method("Show", title, body, false, false),
  upload: method("Upload", body, kept, false, false),
  store: method("Store", body, kept, true, false),
  add: method("Add", picture, kept, false, false),
};

export function createStudio(): Service {
  const files = new Map<string, Uint8Array>([["Ada", new Uint8Array(1000)]]);
  return {
    name: "studio",
    descriptors,
    parts: [
      part(methods, {
        async *talk(lines: AsyncIterable<Line>) {
          for await (const { text } of lines) yield { text: `${text} to you` };
        },
        show: ({ title }) => ({ contentType: "image/png", data: files.get(title) ?? new Uint8Array(0) }),
        upload: ({ contentType, data }) => ({ contentType, bytes: data.length }),
        async store(chunks: AsyncIterable<Body>) {
          let [type, bytes] = ["", 0];
          for await (const { contentType, data } of chunks) {
            type ||= contentType;
            bytes += data.length;
          }
          return { contentType: type, bytes };
        },
        add({ title, file }) {
          files.set(title, file);
          return { title, bytes: file.length };
        },
      }),
    ],
  };
}

/** Starts the service and Portico. Both end with the test. */
export async function openStudio(t: Test) {
  const deployment = await deploy(t.testdir(), { services: [createStudio()] });
  t.teardown(() => deployment.close());
  const { host, port } = deployment.gateway.address;
  return {
    url: `http://${host}:${port}`,
    password: ADMIN_PASSWORD,
    token: await login(deployment.handler, "admin"),
  };
}
