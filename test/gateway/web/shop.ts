/**
 * A shop in this process that knows nothing of Portico. Portico serves it by a file of descriptors.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  loadPackageDefinition,
  type Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { compile } from "../../services/registry/compile.js";
import { until } from "../../support/until.js";

interface Item {
  readonly name: string;
  readonly count: number;
}

export interface Shop {
  /** An entry for "services" in the configuration file. */
  readonly entry: { readonly name: string; readonly target: string; readonly descriptors: string };
  /** The messages of requests and streams that arrived, in order. */
  readonly received: object[];
  /** The namespace of the latest call. */
  namespace(): string | undefined;
  /** How many streams are being watched. */
  watchers(): number;
  /** Resolves when this many are being watched. */
  untilWatchers(count: number): Promise<void>;
  /** Resolves when a gateway serves the shop. */
  untilServed(origin: string): Promise<void>;
  close(): void;
}

/** Its contract, as files. */
export function shopSource(): Readonly<Record<string, string>> {
  const read = (file: string) => readFileSync(join("test", file), "utf8");
  return {
    "shop.proto": read("gateway/web/shop.proto"),
    "google/api/httpbody.proto": read("gateway/dialects/json/streams/google/api/httpbody.proto"),
  };
}

/** @param folder a new, empty one */
export async function openShop(folder: string): Promise<Shop> {
  const descriptors = join(folder, "shop.binpb");
  writeFileSync(descriptors, compile(join(folder, "proto"), shopSource()));
  const options = {
    longs: String,
    defaults: false,
    oneofs: false,
    includeDirs: ["test/gateway/web", "test/gateway/dialects/json/streams"],
  };
  const loaded = loadPackageDefinition(loadSync("shop.proto", options));
  const { service } = (loaded.shop as Record<string, unknown>).Shop as ServiceClientConstructor;
  const watched = new Watched();
  const received: object[] = [];
  let namespace: string | undefined;
  const receive = ({ metadata }: { readonly metadata: Metadata }, message: object) => {
    namespace = metadata.get("platform-namespace")[0]?.toString();
    received.push(message);
  };
  const server = new Server();
  server.addService(service, {
    Call: (call: ServerUnaryCall<object, object>, done: sendUnaryData<object>) => {
      receive(call, call.request);
      done(null, call.request);
    },
    Watch: (call: ServerWritableStream<{ every?: number; most?: number }, object>) => {
      receive(call, call.request);
      watch(call, watched);
    },
    Fill: (call: ServerReadableStream<Item, object>, done: sendUnaryData<object>) => {
      const items: Item[] = [];
      call.on("data", (item) => items.push(item) && receive(call, item)).on("end", () => done(null, receiptOf(items)));
    },
    Store: (
      call: ServerReadableStream<{ content_type: string; data: Buffer }, object>,
      done: sendUnaryData<object>,
    ) => {
      const chunks: Buffer[] = [];
      call.on("data", ({ data }) => chunks.push(data));
      call.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        receive(call, { text });
        done(null, { count: text.length });
      });
    },
    Haggle: (call: ServerDuplexStream<Item, object>) => {
      call.on("data", (item: Item) => {
        receive(call, item);
        call.write(receiptOf([item]));
      });
      call.on("end", () => call.end());
    },
    Weigh: (call: ServerUnaryCall<{ data: Buffer }, object>, done: sendUnaryData<object>) => {
      receive(call, { text: call.request.data.toString() });
      done(null, { count: call.request.data.length });
    },
    Print: (call: ServerUnaryCall<{ customer?: string; stamp?: Buffer }, object>, done: sendUnaryData<object>) => {
      receive(call, call.request);
      const { stamp } = call.request;
      if (stamp?.length) return done(null, { contentType: "image/png", data: stamp });
      done(null, { content_type: "text/plain", data: Buffer.from(`Order of ${call.request.customer}`) });
    },
    Fail: (call: ServerUnaryCall<{ code?: number; message?: string }, object>, done: sendUnaryData<object>) => {
      done({ code: call.request.code ?? 2, details: call.request.message ?? "" });
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    entry: { name: "shop", target: `127.0.0.1:${port}`, descriptors },
    received,
    namespace: () => namespace,
    watchers: () => watched.count,
    untilWatchers: (count) => watched.until(count),
    untilServed,
    close: () => server.forceShutdown(),
  };
}

/** Asks repeatedly, because the registry notifies only gateways that a service has joined. */
async function untilServed(origin: string): Promise<void> {
  await until(async () => {
    const response = await fetch(`${origin}/shop/Call`);
    await response.arrayBuffer();
    return response.status === 200;
  });
}

function receiptOf(items: readonly Item[]): object {
  return {
    count: items.reduce((sum, { count = 0 }) => sum + count, 0),
    text: items.map(({ name }) => name).join(", "),
  };
}

class Watched {
  count = 0;
  readonly #waiting = new Set<() => void>();

  change(by: number): void {
    this.count += by;
    for (const check of this.#waiting) check();
  }

  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (this.count !== count) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      check();
    });
  }
}

function watch(call: ServerWritableStream<{ every?: number; most?: number }, object>, watched: Watched): void {
  const { every = 50, most = 0 } = call.request;
  let number = 0;
  watched.change(1);
  const timer = setInterval(() => {
    call.write({ number: ++number });
    if (number === most) call.end();
  }, every);
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    clearInterval(timer);
    watched.change(-1);
  };
  call.on("cancelled", end).on("finish", end);
}
