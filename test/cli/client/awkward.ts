/** A service with the contract of awkward.proto. It returns what it receives. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { part, type Service } from "../../../src/rpc/service.js";
import { BYTES } from "../../rpc/raw-service.js";
import { compile } from "../../services/registry/compile.js";

const CONTRACT = readFileSync("test/cli/client/awkward.proto", "utf8");

export function createAwkward(): Service {
  const services = [...CONTRACT.matchAll(/^service (\w+) \{(.*?)^\}/gms)];
  return {
    name: "awkward",
    descriptors: compiled(),
    parts: services.map(([, name = "", body = ""]) => echo(name, body)),
  };
}

function compiled(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "portico-"));
  try {
    return compile(folder, { "awkward.proto": CONTRACT });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * A gRPC service whose endpoints return what they receive. If the requests are a stream and the
 * response is not, it returns the last message.
 */
function echo(service: string, body: string) {
  const endpoints = [...body.matchAll(/rpc (\w+)\((stream )?[\w.]+\) returns \((stream )?/g)];
  const methods = endpoints.map(([, name, sent, received]) => {
    const streams = { requestStream: sent !== undefined, responseStream: received !== undefined };
    return [name, { path: `/awkward.${service}/${name}`, ...streams, ...BYTES }];
  });
  const handlers = endpoints.map(([, name, sent, received]) => [name, handlerOf(sent, received)]);
  // biome-ignore lint/suspicious/noExplicitAny: names made from a table have no static types.
  return part(Object.fromEntries(methods) as any, Object.fromEntries(handlers) as any);
}

function handlerOf(sent: string | undefined, received: string | undefined): unknown {
  if (sent === undefined && received === undefined) return (request: Buffer) => request;
  if (sent !== undefined && received !== undefined) return (requests: AsyncIterable<Buffer>) => requests;
  if (sent === undefined) {
    return async function* (request: Buffer) {
      yield request;
    };
  }
  return async (requests: AsyncIterable<Buffer>) => {
    let last: Buffer = Buffer.alloc(0);
    for await (const request of requests) last = request;
    return last;
  };
}
