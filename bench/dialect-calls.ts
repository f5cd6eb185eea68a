/** One call in each dialect: the greeting of `helloworld` in the form of the dialect. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { HttpRule } from "../src/gen/google/api/http.js";
import { CallRequest, CallResponse } from "../src/gen/helloworld/helloworld.js";
import { answerTo, type Body } from "./bodies.js";
import { GRPC_PATH } from "./peers.js";
import type { System } from "./systems.js";

export interface Dialect {
  readonly name: string;
  /** Default: the system's path for JSON. */
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parallel calls on each HTTP/2 connection. If not set, HTTP/1.1 is used. */
  readonly streams?: number;
  request(body: Body): Uint8Array;
  isAnswer(response: Buffer, body: Body): boolean;
}

/** The path of the annotation `google.api.http`, for calls in JSON. */
export const ANNOTATED_PATH = "/v1/greetings:make";

const JSON_FORM = {
  headers: { "content-type": "application/json" },
  request: ({ request }: Body) => Buffer.from(request),
  isAnswer: (response: Buffer, { request }: Body) =>
    JSON.stringify(JSON.parse(response.toString())) === answerTo(request),
};
const GRPC = {
  path: GRPC_PATH,
  headers: { "content-type": "application/grpc", te: "trailers" },
  request: (body: Body) => frame(0, message(body)),
  isAnswer: (response: Buffer, body: Body) => response.equals(frame(0, greeting(body))),
};

export const DIALECTS: readonly Dialect[] = [
  { name: "JSON", ...JSON_FORM },
  { name: "JSON, `google.api.http`", ...JSON_FORM, path: ANNOTATED_PATH },
  {
    name: "Connect, proto",
    path: GRPC_PATH,
    headers: { "content-type": "application/proto", "connect-protocol-version": "1" },
    request: message,
    isAnswer: (response, body) => response.equals(greeting(body)),
  },
  {
    name: "gRPC-Web, binary",
    path: GRPC_PATH,
    headers: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" },
    request: GRPC.request,
    isAnswer: (response, body) => {
      const first = frame(0, greeting(body));
      const trailers = response.subarray(first.length);
      return (
        response.subarray(0, first.length).equals(first) && /grpc-status: ?0\r\n/.test(trailers.toString("latin1", 5))
      );
    },
  },
  { name: "gRPC, 64 connections of one stream", ...GRPC, streams: 1 },
  { name: "gRPC, 4 connections of 16 streams", ...GRPC, streams: 16 },
];

function message({ request }: Body): Uint8Array {
  return CallRequest.encode(JSON.parse(request)).finish();
}

function greeting({ request }: Body): Uint8Array {
  return CallResponse.encode(JSON.parse(answerTo(request))).finish();
}

/** A message in the frame of gRPC: flags, length, bytes. */
function frame(flags: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/**
 * Makes one call.
 * @returns the response body
 * @throws when the response is not the greeting
 */
export async function ask(system: System, dialect: Dialect, body: Body): Promise<Buffer> {
  const address = `http://127.0.0.1:${system.programs.at(-1)!.port}`;
  const path = dialect.path ?? system.path;
  const headers = { ...system.headers, ...dialect.headers };
  const sent = dialect.request(body);
  const response =
    dialect.streams === undefined
      ? await askOverHttp1(address + path, headers, sent)
      : await askOverHttp2(address, path, headers, sent);
  if (!dialect.isAnswer(response, body))
    throw new Error(`${system.name} answers ${dialect.name}, ${body.name} wrongly: ${response.subarray(0, 200)}`);
  return response;
}

async function askOverHttp1(url: string, headers: Readonly<Record<string, string>>, body: Uint8Array): Promise<Buffer> {
  // Without the second header, fetch would accept compressed responses.
  const ours = { connection: "close", "accept-encoding": "identity" };
  const response = await fetch(url, { method: "POST", headers: { ...headers, ...ours }, body: Buffer.from(body) });
  const answer = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${url} answers with ${response.status}: ${answer.subarray(0, 200)}`);
  return answer;
}

async function askOverHttp2(
  address: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
): Promise<Buffer> {
  const session = connect(address);
  try {
    const stream = session.request({ ":method": "POST", ":path": path, ...headers });
    stream.end(body);
    const trailers = once(stream, "trailers");
    const response = Buffer.concat(await stream.toArray());
    const [fields] = await trailers;
    if (fields["grpc-status"] !== "0") throw new Error(`${path} answers with ${JSON.stringify(fields)}`);
    return response;
  } finally {
    session.destroy();
  }
}

/** The field number of the annotation in the options of a method (google/api/annotations.proto). */
const ANNOTATION = 72_295_728;
const LENGTH_DELIMITED = 2;

/**
 * Gives the method `Call` an annotation with a path.
 * @param file of a FileDescriptorSet with one file. It is overwritten
 */
export function annotate(file: string): void {
  const set = fromBinary(FileDescriptorSetSchema, readFileSync(file));
  const method = set.file[0]!.service[0]!.method[0]!;
  const rule = HttpRule.encode(
    HttpRule.fromPartial({ pattern: { $case: "post", value: ANNOTATED_PATH }, body: "*" }),
  ).finish();
  method.options ??= create(MethodOptionsSchema);
  const data = Buffer.from([rule.length, ...rule]);
  method.options.$unknown = [{ no: ANNOTATION, wireType: LENGTH_DELIMITED, data }];
  writeFileSync(file, toBinary(FileDescriptorSetSchema, set));
}
