/**
 * A service of the catalogue in this process, called as a gateway calls it: JSON in, JSON out, by
 * an account of a namespace. Its store is a SQLite file in a folder of the test.
 */

import pino from "pino";
import type { Test } from "tap";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { type Endpoint, endpointsOf, readDescriptors } from "../../src/contract/endpoint.js";
import { compileCodecs } from "../../src/json/compile.js";
import type { Part } from "../../src/kit/index.js";
import { createService } from "../../src/kit/service.js";
import { type SharedStore, sharedStore } from "../../src/kit/shared-store.js";
import type { BuiltInContext } from "../../src/rpc/service.js";
import { openServiceStore } from "../../src/store/open.js";
import type { KeyValueStore, StoredWrite } from "../../src/store/store.js";
import { temporaryFolder } from "./temporary.js";

const types = readDescriptors(descriptorsOf());
const codec = compileCodecs(types);

/** A message as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests read the members that they expect.
export type Message = any;

export interface CatalogueOptions {
  /** The folder of the store; default a temporary folder. */
  readonly folder?: string;
  /** The URL of the store; default a file in the folder. */
  readonly url?: string;
  /** Wraps the store, for example to remove a safeguard. */
  readonly through?: (store: KeyValueStore) => KeyValueStore;
}

/** The caller of a call. */
export interface As {
  /** Undefined for a call without a token. */
  readonly account?: string | undefined;
  readonly namespace?: string;
  readonly namespaceId?: string;
  readonly signal?: AbortSignal;
}

export interface Calls {
  /**
   * Calls an endpoint, such as `Get`.
   * @throws {StatusError} (rejects) the service's error
   * @throws {JsonError} (rejects) the gateway's error
   */
  call(endpoint: string, request?: object, as?: As): Promise<Message>;
  stream(endpoint: string, request?: object, as?: As): AsyncGenerator<Message>;
  readonly endpoints: readonly Endpoint[];
}

/**
 * Serves a service until the test ends. The caller is the account `ada` of the namespace
 * `default`, unless the call names another one.
 */
export function serveCatalogue(
  t: Test,
  service: string,
  parts: readonly Part[],
  options: CatalogueOptions = {},
): Calls {
  const { folder = temporaryFolder(t), url = "sqlite:", through = (store) => store } = options;
  const store = sharedStore(async () => through(await openServiceStore(url, folder)));
  const { close, ...calls } = openCatalogue(service, parts, store);
  t.teardown(async () => {
    await close();
    await store.close();
  });
  return calls;
}

/** Like `serveCatalogue`, but outside a test, and with a store that several services share. */
export function openCatalogue(
  service: string,
  parts: readonly Part[],
  store: SharedStore,
): Calls & { close(): Promise<void> } {
  const end = new AbortController();
  const streams = new Set<AsyncIterator<unknown>>();
  const log = pino({ level: "silent" });
  const unused = () => {
    throw new Error("services of the catalogue call no others");
  };
  const served = createService(parts, {
    descriptors: descriptorsOf(),
    environment: { service, log, store, clients: unused },
  });
  const names = [...types].flatMap((type) =>
    type.kind === "service" && type.file.proto.package === service ? [type.typeName] : [],
  );
  const endpoints = endpointsOf(service, types, names);

  function open(name: string, request: object, as: As) {
    const endpoint = endpoints.find(({ method }) => method.name === name);
    if (endpoint === undefined) throw new Error(`${service} has no endpoint ${name}`);
    const { localName, input, output } = endpoint.method;
    for (const part of served.parts) {
      if (!("implementation" in part)) continue;
      const definition = part.definition[localName];
      const handler = part.implementation[localName];
      if (definition === undefined || handler === undefined) continue;
      const wire = Buffer.from(codec(input).read(Buffer.from(JSON.stringify(request))));
      const response = handler(definition.requestDeserialize(wire), contextOf(endpoint, { signal: end.signal, ...as }));
      const toJson = (message: unknown) => JSON.parse(codec(output).write(definition.responseSerialize(message)));
      return { response, toJson };
    }
    throw new Error(`${service} does not implement ${name}`);
  }

  return {
    endpoints,
    async close() {
      end.abort();
      await Promise.allSettled([...streams].map((stream) => stream.return?.()));
    },
    async call(endpoint, request = {}, as = {}) {
      const { response, toJson } = open(endpoint, request, as);
      return toJson(await response);
    },
    async *stream(endpoint, request = {}, as = {}) {
      const { response, toJson } = open(endpoint, request, as);
      const messages: AsyncIterator<unknown> = response[Symbol.asyncIterator]();
      streams.add(messages);
      try {
        for (let next = await messages.next(); !next.done; next = await messages.next()) yield toJson(next.value);
      } finally {
        await messages.return?.();
        streams.delete(messages);
      }
    },
  };
}

function contextOf({ name }: Endpoint, as: As & { readonly signal: AbortSignal }): BuiltInContext {
  const { namespace = "default", namespaceId, signal } = as;
  const account = "account" in as ? as.account : "ada";
  return {
    caller:
      account === undefined
        ? undefined
        : { account, namespace, scopes: [], expires: Number.POSITIVE_INFINITY, resources: [] },
    namespace,
    namespaceId,
    system: false,
    endpoint: name,
    metadata: [],
    deadline: undefined,
    deadlineMonotonicMs: undefined,
    signal,
    clientAddress: "127.0.0.1",
    sendHeaders() {},
    setTrailers() {},
  };
}

/**
 * Removes the safeguard against concurrent calls: a commit does not check that the value that it
 * replaces is the value that was read, and adds to the value that was read.
 */
export function withoutConditions(store: KeyValueStore): KeyValueStore {
  const unguarded = async (write: StoredWrite): Promise<StoredWrite> => {
    if (write.kind !== "increment") return { ...write, condition: undefined };
    const [entry] = await store.get([write.key]);
    const value = `${Number(entry?.value ?? 0) + write.by}`;
    return { key: write.key, kind: "set", value, expires: write.expires };
  };
  return overriding(store, { commit: async (writes) => store.commit(await Promise.all(writes.map(unguarded))) });
}

/** A store in which some methods are replaced. */
export function overriding(store: KeyValueStore, methods: Partial<KeyValueStore>): KeyValueStore {
  return {
    name: store.name,
    id: store.id,
    mayBeStale: store.mayBeStale,
    get: (keys) => store.get(keys),
    range: (range) => store.range(range),
    count: (from, to) => store.count(from, to),
    keys: (from, to) => store.keys(from, to),
    commit: (writes, options) => store.commit(writes, options),
    follow: (collection, listener) => store.follow(collection, listener),
    time: () => store.time(),
    isInPlace: () => store.isInPlace(),
    size: () => store.size(),
    owner: () => store.owner(),
    claim: (installation, options) => store.claim(installation, options),
    sweep: () => store.sweep(),
    close: () => store.close(),
    ...methods,
  };
}
