/**
 * Pages for a browser with the published web clients of gRPC-Web and of Connect, bundled from npm,
 * with code that @bufbuild/protoc-gen-es generates from probe.proto and feed.proto.
 */
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import type { Test } from "tap";
import { npmPackages } from "../../../outside/tools.js";

/** The results of a web client with a gateway: one member for each attempt. */
export const EXPECTED = {
  unary: "Ada",
  stream: ["1", "2", "3"],
  caller: "admin",
  nobody: "",
  refused: { code: 16, message: "Unauthorized call made to probe:Probe.Tell" },
  failed: { code: 5, message: "ä ☺ 100 %", retryAfterSeconds: "7" },
  failedStream: { messages: 2, code: 5, message: "as told" },
  late: { code: 4 },
  lateStream: { code: 4 },
  cancelled: true,
};

/**
 * As text, grpc-web reads messages of a stream one by one. As bytes, it reads them all at the end
 * of the response.
 */
export const CLIENTS = [
  { name: "connect-web: Connect, proto", isStreaming: true },
  { name: "connect-web: Connect, JSON", isStreaming: true },
  { name: "connect-web: Connect, GET", isStreaming: true },
  { name: "connect-web: gRPC-Web", isStreaming: true },
  { name: "grpc-web: text", isStreaming: true },
  { name: "grpc-web: binary", isStreaming: false },
];

/**
 * In the page, `tryClient({name, isStreaming, url, token})` tries one of CLIENTS and resolves with
 * an object like EXPECTED. Each client is adapted to two functions, which reject with `{code,
 * message, details}`: `unary(method, message, options)` and `stream(…)`, an async iterable.
 * Options: headers, timeoutMs, signal.
 */
const SCRIPT = `
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient, ConnectError } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { GrpcWebClientBase, MethodDescriptor, MethodType } from "grpc-web";
import { Probe } from "./probe_pb.js";
import { Feed } from "./feed_pb.js";
import { RetryInfoSchema } from "./google/rpc/error_details_pb.js";
import { StatusSchema } from "./google/rpc/status_pb.js";

function ofConnect(transport) {
  const thrown = (error) => {
    const { code, rawMessage: message } = ConnectError.from(error);
    return { code, message, details: ConnectError.from(error).findDetails(RetryInfoSchema) };
  };
  const clientOf = ({ parent }) => createClient(parent, transport);
  return {
    unary: (method, message, options) =>
      clientOf(method)[method.localName](message, options).catch((error) => { throw thrown(error); }),
    async *stream(method, message, options) {
      try {
        yield* clientOf(method)[method.localName](message, options);
      } catch (error) {
        throw thrown(error);
      }
    },
  };
}

/** Uses descriptors of methods, as protoc-gen-grpc-web generates them. */
function ofGrpcWeb(format, url) {
  const client = new GrpcWebClientBase({ format });
  const described = ({ parent, name, methodKind, input, output }) => [
    url + "/" + parent.typeName + "/" + name,
    new MethodDescriptor(
      "/" + parent.typeName + "/" + name,
      methodKind === "unary" ? MethodType.UNARY : MethodType.SERVER_STREAMING,
      Object, Object,
      (message) => toBinary(input, create(input, message)),
      (bytes) => fromBinary(output, new Uint8Array(bytes)),
    ),
  ];
  const metadataOf = ({ headers = {}, timeoutMs }) => {
    return timeoutMs === undefined ? headers : { ...headers, deadline: String(Date.now() + timeoutMs) };
  };
  const thrown = ({ code, message, metadata }) => {
    const status = metadata?.["grpc-status-details-bin"];
    const read = () => fromBinary(StatusSchema, Uint8Array.from(atob(status), (character) => character.charCodeAt(0)));
    const details = status === undefined ? [] : read().details.map(({ value }) => fromBinary(RetryInfoSchema, value));
    return { code, message, details };
  };
  return {
    unary(method, message, options = {}) {
      const [path, descriptor] = described(method);
      return client.unaryCall(path, message, metadataOf(options), descriptor, options)
        .catch((error) => { throw thrown(error); });
    },
    async *stream(method, message, options = {}) {
      const [path, descriptor] = described(method);
      const waiting = [];
      let wake = () => {};
      const call = client.serverStreaming(path, message, metadataOf(options), descriptor);
      const add = (event) => { waiting.push(event); wake(); };
      call.on("data", (value) => add({ value }));
      call.on("error", (error) => add({ error: thrown(error) }));
      call.on("end", () => add({ done: true }));
      options.signal?.addEventListener("abort", () => { call.cancel(); add({ error: { code: 1 } }); });
      for (;;) {
        while (waiting.length === 0) await new Promise((resolve) => { wake = resolve; });
        const { value, error, done } = waiting.shift();
        if (error !== undefined) throw error;
        if (done) return;
        yield value;
      }
    },
  };
}

const CLIENTS = {
  "connect-web: Connect, proto": (baseUrl) => ofConnect(createConnectTransport({ baseUrl, useBinaryFormat: true })),
  "connect-web: Connect, JSON": (baseUrl) => ofConnect(createConnectTransport({ baseUrl })),
  "connect-web: Connect, GET": (baseUrl) => ofConnect(createConnectTransport({ baseUrl, useBinaryFormat: true, useHttpGet: true })),
  "connect-web: gRPC-Web": (baseUrl) => ofConnect(createGrpcWebTransport({ baseUrl })),
  "grpc-web: text": (url) => ofGrpcWeb("text", url),
  "grpc-web: binary": (url) => ofGrpcWeb("binary", url),
};

const errorOf = (promise) => promise.then(
  (answer) => ({ answered: String(answer) }),
  ({ code, message, details = [] }) => ({ code, message, retryAfterSeconds: details[0]?.retryDelay && String(details[0].retryDelay.seconds) }),
);

/** How many messages arrived before the error, and the error. */
async function brokenOff(messages) {
  let count = 0;
  try {
    for await (const _ of messages) count++;
    return { messages: count };
  } catch ({ code, message }) {
    return { messages: count, code, message };
  }
}

/** Whether a stream that has begun ends by a cancellation. */
async function cancel({ stream }) {
  const controller = new AbortController();
  const messages = stream(Feed.method.count, { messages: 1n, hang: true }, { signal: controller.signal });
  await messages.next();
  controller.abort();
  return messages.next().then(() => false, ({ code }) => code === 1);
}

/** An error with a message that the test can show. */
export const toError = (thrown) => thrown instanceof Error ? thrown : new Error(JSON.stringify(thrown));

export async function tryClient({ name, isStreaming, url, token }) {
  const client = CLIENTS[name](url);
  const { unary, stream } = client;
  const collected = [];
  for await (const { number } of stream(Feed.method.count, { messages: 3n })) collected.push(String(number));
  const retry = toBinary(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: { seconds: 7n } }));
  const failure = { code: 5, message: "ä ☺ 100 %", detailType: "type.googleapis.com/google.rpc.RetryInfo", detailValue: retry };
  const caller = (headers) => unary(Probe.method.tell, {}, { headers }).then(({ caller }) => caller);
  return {
    unary: (await unary(Probe.method.call, { text: "Ada" })).text,
    stream: collected,
    caller: await caller({ Authorization: "Bearer " + token }),
    nobody: await caller({}),
    refused: await errorOf(caller({ "Platform-Namespace": "elsewhere" })),
    failed: await errorOf(unary(Probe.method.fail, failure)),
    failedStream: await brokenOff(stream(Feed.method.count, { messages: 2n, code: 5 })),
    late: await errorOf(unary(Probe.method.hang, {}, { timeoutMs: 100 })),
    lateStream: await brokenOff(stream(Feed.method.count, { messages: 1n, hang: true }, { timeoutMs: 100 })),
    cancelled: isStreaming && await cancel(client),
  };
}
`;

/** Bundles the module of the page. */
export async function bundleClients(t: Test): Promise<string> {
  const packages = npmPackages(
    ...["grpc-web@2.1.1", "@connectrpc/connect@2.2.0", "@connectrpc/connect-web@2.2.0"],
    ...["@bufbuild/protobuf@2.17.0", "@bufbuild/protoc-gen-es@2.17.0"],
  );
  const generated = t.testdir();
  const plugin = { local: join(packages, "node_modules/.bin/protoc-gen-es"), out: generated, opt: "target=js" };
  const template = JSON.stringify({ version: "v2", plugins: [{ ...plugin, include_imports: true }] });
  for (const [folder, ...files] of [
    ["test/gateway", "test/gateway/probe.proto"],
    ["test/gateway/dialects/json/streams", "test/gateway/dialects/json/streams/feed.proto"],
    ["proto", "proto/google/rpc/error_details.proto", "proto/google/rpc/status.proto"],
  ] as const) {
    const paths = files.flatMap((file) => ["--path", file]);
    execFileSync("node_modules/.bin/buf", ["generate", folder, ...paths, "--template", template, "-o", "/"]);
  }
  const { outputFiles } = await build({
    stdin: { contents: SCRIPT, resolveDir: resolve(generated) },
    nodePaths: [join(packages, "node_modules")],
    ...{ bundle: true, format: "esm", platform: "browser", write: false },
  });
  return outputFiles[0]?.text ?? "";
}
