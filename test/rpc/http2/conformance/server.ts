/**
 * The server under test of connectrpc's conformance runner: the runner's service on Portico's
 * HTTP/2.
 */
import { setTimeout as wait } from "node:timers/promises";
import { StatusError } from "../../../../src/errors.js";
import { serveHttp2 } from "../../../../src/rpc/http2/server.js";
import { type BuiltInContext, part } from "../../../../src/rpc/service.js";
import { dispatcherOf, LIMITS } from "../../serve.js";
import {
  descriptors,
  fromHeaders,
  METHODS,
  type Message,
  make,
  pack,
  readMessages,
  toHeaders,
  writeMessage,
} from "./schema.js";

/** A longer deadline is the dispatcher's default: no test asks for so long a time. */
const HOUR = 3_600_000;

function announce(definition: Message, context: BuiltInContext): void {
  context.setTrailers(fromHeaders(definition.responseTrailers));
  context.sendHeaders(fromHeaders(definition.responseHeaders));
}

function infoOf(requests: Message[], context: BuiltInContext) {
  const left = Math.max((context.deadlineMonotonicMs ?? Number.POSITIVE_INFINITY) - performance.now(), 0);
  const timeoutMs = left > HOUR ? undefined : BigInt(Math.round(left));
  return { requestHeaders: toHeaders(context.metadata), requests, timeoutMs };
}

/**
 * Creates the error. It contains the information about the request, unless a response has sent
 * that.
 */
function failure(error: Message, info: object | undefined): StatusError {
  const details = [...error.details];
  if (info !== undefined) {
    const name = "ConformancePayload.RequestInfo";
    details.push(pack(name, make(name, info)));
  }
  return new StatusError(error.code, error.message ?? "", { details });
}

async function answerOne(name: string, requests: Message[], context: BuiltInContext): Promise<Message> {
  const definition = requests[0]?.responseDefinition;
  const packed = requests.map((request) => pack(name, request));
  if (definition === undefined) return { payload: { requestInfo: infoOf(packed, context) } };
  announce(definition, context);
  if (definition.responseDelayMs > 0) await wait(definition.responseDelayMs, undefined, { signal: context.signal });
  const { response } = definition;
  if (response.case === "error") throw failure(response.value, infoOf(packed, context));
  return { payload: { data: response.value, requestInfo: infoOf(packed, context) } };
}

/**
 * @param more returns the information about requests since the last response, or undefined to send
 * none
 */
async function* responses(
  definition: Message,
  from: number,
  to: number,
  context: BuiltInContext,
  more: () => object | undefined,
) {
  for (const data of definition.responseData.slice(from, to)) {
    if (definition.responseDelayMs > 0) await wait(definition.responseDelayMs, undefined, { signal: context.signal });
    yield { payload: { data, requestInfo: more() } };
  }
}

async function* download(request: Message, context: BuiltInContext) {
  const definition = request.responseDefinition;
  if (definition === undefined) return;
  announce(definition, context);
  let info: object | undefined = infoOf([pack("ServerStreamRequest", request)], context);
  const once = () => {
    const told = info;
    info = undefined;
    return told;
  };
  yield* responses(definition, 0, definition.responseData.length, context, once);
  if (definition.error !== undefined) throw failure(definition.error, info);
}

async function* chat(requests: AsyncIterable<Message>, context: BuiltInContext) {
  let definition: Message;
  let told = 0;
  let packed: object[] = [];
  for await (const request of requests) {
    packed.push(pack("BidiStreamRequest", request));
    if (definition === undefined) {
      definition = request.responseDefinition;
      if (definition === undefined) return;
      announce(definition, context);
    }
    if (!request.fullDuplex && told === 0) continue;
    if (told >= definition.responseData.length) break;
    yield* responses(definition, told, told + 1, context, () =>
      told === 0 ? infoOf(packed, context) : { requests: packed },
    );
    told++;
    packed = [];
  }
  if (definition === undefined) return;
  const first = told === 0;
  const rest = () => (told++ === 0 ? infoOf(packed, context) : undefined);
  yield* responses(definition, told, definition.responseData.length, context, rest);
  if (definition.error !== undefined) {
    throw failure(definition.error, first && told === 0 ? infoOf(packed, context) : undefined);
  }
}

const service = {
  name: "conformance",
  descriptors,
  parts: [
    part(METHODS, {
      unary: (request, context) => answerOne("UnaryRequest", [request], context),
      idempotentUnary: (request, context) => answerOne("IdempotentUnaryRequest", [request], context),
      unimplemented() {
        throw new StatusError(12, "not implemented, as the tests have it");
      },
      serverStream: download,
      async clientStream(requests, context) {
        const all: Message[] = [];
        for await (const request of requests) all.push(request);
        return answerOne("ClientStreamRequest", all, context);
      },
      bidiStream: chat,
    }),
  ],
};

for await (const asked of readMessages("ServerCompatRequest")) {
  const limits = { ...LIMITS, maxConnections: 10_000, maxBody: asked.messageReceiveLimit || 4 * 2 ** 20 };
  const { serverCreds, useTls, clientTlsCert } = asked;
  const ca = clientTlsCert.length > 0 ? { ca: Buffer.from(clientTlsCert) } : {};
  const tls = useTls ? { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key), ...ca } : undefined;
  const dispatcher = dispatcherOf([service], {
    limits: { ...LIMITS, maxBody: 2 ** 30, callTime: 2 * HOUR, maxCallTime: 2 * HOUR },
  });
  const { address } = await serveHttp2(dispatcher, { host: "127.0.0.1", port: 0 }, limits, { tls });
  writeMessage("ServerCompatResponse", { ...address, pemCert: useTls ? serverCreds.cert : new Uint8Array(0) });
}
