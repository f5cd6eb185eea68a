/** A collector for tests: it decodes what it gets, and responds as a test says. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { loadSync } from "@grpc/proto-loader";
import type { Test } from "tap";

/** A span as a collector sees it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: "INTERNAL" | "SERVER" | "CLIENT";
  /** In nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: { readonly [name: string]: string | number };
  readonly status: { readonly code: string; readonly message: string } | undefined;
  readonly flags: number;
  readonly resource: { readonly [name: string]: string | number };
}

interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly DecodedSpan[] }[];
  }[];
}
interface DecodedSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId: Buffer;
  readonly traceState: string;
  readonly name: string;
  readonly kind: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code: string; readonly message: string } | null;
  readonly flags: number;
}
interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string; readonly doubleValue?: number };
}

const { Export } = loadSync("test/telemetry/otlp.proto", {
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
})["opentelemetry.proto.TraceService"] as unknown as {
  readonly Export: {
    requestDeserialize(bytes: Buffer): Decoded;
    responseSerialize(response: object): Buffer;
  };
};

/** The bytes of a response that rejects spans. */
export function partialSuccess(rejectedSpans: number, errorMessage: string): Buffer {
  return Export.responseSerialize({ partialSuccess: { rejectedSpans, errorMessage } });
}

/** Decodes a request. */
export function decodeRequest(bytes: Uint8Array): ReceivedSpan[] {
  const { resourceSpans } = Export.requestDeserialize(Buffer.from(bytes));
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const shared = attributesOf(resource.attributes);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => spanOf(span, shared)));
  });
}

function spanOf(span: DecodedSpan, resource: ReceivedSpan["resource"]): ReceivedSpan {
  return {
    traceId: span.traceId.toString("hex"),
    spanId: span.spanId.toString("hex"),
    parentSpanId: span.parentSpanId.toString("hex"),
    traceState: span.traceState,
    name: span.name,
    kind: span.kind.slice("SPAN_KIND_".length) as ReceivedSpan["kind"],
    start: BigInt(span.startTimeUnixNano),
    end: BigInt(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    status: span.status ?? undefined,
    flags: span.flags,
    resource,
  };
}

function attributesOf(attributes: readonly KeyValue[]): { [name: string]: string | number } {
  const read = ({ stringValue, intValue, doubleValue }: KeyValue["value"]): string | number =>
    stringValue ?? (intValue === undefined ? (doubleValue ?? Number.NaN) : Number(intValue));
  return Object.fromEntries(attributes.map(({ key, value }) => [key, read(value)]));
}

type Respond = (request: IncomingMessage, response: ServerResponse, spans: readonly ReceivedSpan[]) => void;

export interface TestCollector {
  /** For `PORTICO_OTLP`. */
  readonly url: string;
  /** The spans of each request, in order. */
  readonly requests: ReceivedSpan[][];
  /** All spans. */
  readonly spans: ReceivedSpan[];
  /** Responds to the next requests; default 200. */
  respond: Respond;
  /** Accepts no connection any more, and ends those that are open. */
  close(): void;
}

/** Opens a collector. The test closes it. */
export async function openCollector(t: Pick<Test, "teardown">): Promise<TestCollector> {
  const requests: ReceivedSpan[][] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isOtlp = request.method === "POST" && request.url === "/v1/traces";
    if (!isOtlp || request.headers["content-type"] !== "application/x-protobuf") {
      response.writeHead(400).end();
      return;
    }
    const spans = decodeRequest(Buffer.concat(chunks));
    requests.push(spans);
    collector.respond(request, response, spans);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  t.teardown(close);
  const collector: TestCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get spans() {
      return requests.flat();
    },
    respond: accept,
    close,
  };
  return collector;
}

export const accept: Respond = (_, response) => void response.writeHead(200).end();
