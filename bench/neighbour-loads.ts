/**
 * The loads of neighbours. Each prepares a server, and then keeps a bounded number of calls or
 * connections open until it is stopped.
 */
import { Agent } from "node:http";
import { connect as connectTcp } from "node:net";
import { parseGrpcTarget } from "../src/address/address.js";
import { Instance, RegistryService } from "../src/gen/portico/registry/v1/registry.js";
import { MemoryBudget } from "../src/memory/memory-budget.js";
import type { Channel } from "../src/rpc/channel.js";
import { stream } from "../src/rpc/client.js";
import { loadTransport } from "../src/rpc/load-transport.js";
import { openServiceStore } from "../src/store/open.js";
import { post } from "./light-load.js";
import { manyMessages, manyTemplates, noTemplate } from "./neighbour-contracts.js";

/** The server under load. */
export interface Place {
  readonly http: string;
  readonly grpc: string;
  readonly data: string;
  /** Headers with the administrator's token. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Makes load until it is stopped. Resolves to a text about its own calls. */
type Act = (stopped: AbortSignal) => Promise<string>;

export interface Neighbour {
  prepare(place: Place): Promise<Act>;
}

const DAY = 86_400_000;
/** Number of entries that one commit writes. */
const ENTRIES_PER_COMMIT = 500;
const LOGIN_BODY = 4 * 1024 ** 2;

/**
 * Keeps a number of calls open. Counts their responses by status.
 * @param pauseMs wait after a refusal, so that refusals do not keep this process busy
 */
function repeat(atOnce: number, call: (number: number) => Promise<string>, pauseMs = 10): Act {
  return async (stopped) => {
    const responses: Record<string, number> = {};
    let next = 0;
    const caller = async (): Promise<void> => {
      while (!stopped.aborted) {
        const status = await call(next++);
        responses[status] = (responses[status] ?? 0) + 1;
        if (status !== "200") await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
    return Object.entries(responses)
      .map(([status, count]) => `${status}: ${count}`)
      .join(", ");
  };
}

/** Calls an endpoint, each time with another body. */
function calls({ http, headers }: Place, path: string, bodyOf: (number: number) => object) {
  const agent = new Agent({ keepAlive: true });
  return async (number: number) => (await post(`${http}${path}`, { headers, agent, body: bodyOf(number) })).status;
}

/** Writes entries directly into the server's store of services. */
async function fill({ data }: Place, count: number, entryOf: (index: number) => [key: string, value: unknown]) {
  const store = await openServiceStore("sqlite:", data, { timeoutMs: 60_000 });
  const expires = Date.now() + DAY;
  for (let start = 0; start < count; start += ENTRIES_PER_COMMIT) {
    const writes = Array.from({ length: Math.min(ENTRIES_PER_COMMIT, count - start) }, (_, index) => {
      const [key, value] = entryOf(start + index);
      return { kind: "set" as const, key, value: JSON.stringify(value), expires };
    });
    await store.commit(writes);
  }
  await store.close();
}

/** Counts the records of a table of some 50 MB with a filter that has no index. */
function scans(atOnce: number): Neighbour {
  const records = 50_000;
  const now = Date.now();
  return {
    async prepare(place) {
      await fill(place, 1, () => ["db/default/tables/people", { id: "t", indexes: [] }]);
      await fill(place, 1, () => ["db/default/counts/t", records]);
      await fill(place, records, (index) => [
        `db/default/records/t/${`${index}`.padStart(8, "0")}`,
        { fields: { name: `n${index}`, text: "x".repeat(1_000) }, created: now, updated: now, revision: 1 },
      ]);
      const filter = { field: "name", operator: "CONTAINS", value: "99" };
      return repeat(
        atOnce,
        calls(place, "/v1/db/count", () => ({ table: "people", filter })),
        1_000,
      );
    },
  };
}

/** Writes into a full cache, and pushes to a list in parallel. */
const fullCache: Neighbour = {
  async prepare(place) {
    await fill(place, 100_000, (index) => [`cache/default/entries/${index}`, "x".repeat(1_000)]);
    const refused = repeat(
      32,
      calls(place, "/v1/cache/set", (number) => ({ key: `new${number}`, value: "x" })),
    );
    const push = calls(place, "/v1/lists/push", (number) => ({ list: `beside${number % 100}`, items: ["x"] }));
    const times: number[] = [];
    const pushing = repeat(1, async (number) => {
      const began = performance.now();
      const status = await push(number);
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 50));
      return status;
    });
    return async (stopped) => {
      const [own, beside] = await Promise.all([refused(stopped), pushing(stopped)]);
      times.sort((a, b) => a - b);
      const at = (share: number) => times[Math.floor(times.length * share)]?.toFixed(1);
      return `${own}; lists.push ${beside}, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
    };
  },
};

/** Requests codes for an account that has the maximum number of codes. */
const fullOtp: Neighbour = {
  async prepare(place) {
    const code = { secret: "JBSWY3DPEHPK3PXP", digits: 6, expires: Date.now() + DAY, failures: 0 };
    await fill(place, 100_000, (index) => [`otp/default/codes/admin/${`${index}`.padStart(43, "0")}`, code]);
    return repeat(
      32,
      calls(place, "/v1/otp/generate", (number) => ({ subject: `new${number}` })),
    );
  },
};

/** Keeps logins open whose bodies lack the last byte. Opens them again when they are closed. */
const unfinishedBodies: Neighbour = {
  async prepare({ http }) {
    const { hostname, port, host } = new URL(http);
    const head = `POST /auth/login HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${LOGIN_BODY}\r\n\r\n`;
    const body = Buffer.alloc(LOGIN_BODY - 1, " ");
    return repeat(200, async () => {
      const socket = connectTcp({ host: hostname, port: Number(port) });
      const response = await new Promise<string>((resolve) => {
        socket.setTimeout(5_000, () => resolve("held"));
        socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "broken"));
        socket.on("close", () => resolve("closed"));
        socket.on("data", (data) => resolve(data.toString("latin1", 9, 12)));
        socket.write(head);
        socket.write(body);
      });
      socket.destroy();
      return response;
    });
  },
};

async function channelTo({ grpc }: Place): Promise<Channel> {
  const limits = { maxBody: 4 * 1024 ** 2, callTime: 30_000, maxCallTime: 90_000 };
  const transport = await loadTransport("http2", limits as never, {} as never, new MemoryBudget());
  return transport.connect(parseGrpcTarget(grpc));
}

/** Registers an instance of a service. Resolves when the registry has responded. */
async function registrar(place: Place, service: string) {
  const { http, headers } = place;
  const response = await fetch(`${http}/v1/auth/Enrolments/Create`, {
    method: "POST",
    headers,
    body: JSON.stringify({ name: service }),
    signal: AbortSignal.timeout(10_000),
  });
  const { secret } = (await response.json()) as { secret: string };
  const channel = await channelTo(place);
  return async (id: string, descriptors: Buffer, grpcService: string) => {
    const call = stream(channel, RegistryService.register, { metadata: [["authorization", `Bearer ${secret}`]] });
    const instance = { service, id, addresses: ["127.0.0.1:9"], descriptors, grpcServices: [grpcService] };
    call.send({ instance: Instance.fromPartial(instance) });
    await call.responses[Symbol.asyncIterator]().next();
    return call;
  };
}

/** Registers contracts of 60,000 messages, each time a different one. */
const registrations: Neighbour = {
  async prepare(place) {
    const register = await registrar(place, "neighbour");
    return repeat(4, async (number) => {
      try {
        const call = await register(`i${number % 4}`, manyMessages(60_000, number), "neighbour.Neighbour");
        call.cancel();
        return "200";
      } catch (error) {
        return (error as Error).message.slice(0, 60);
      }
    });
  },
};

/**
 * Calls paths that almost match 8,192 templates, but match none. With 64 templates if the larger
 * contract is refused.
 */
const templates: Neighbour = {
  async prepare(place) {
    const register = await registrar(place, "neighbour");
    const registerFor = async (segments: number) => {
      const held = await register("one", manyTemplates(segments), "neighbour.Neighbour");
      return { held, segments };
    };
    const { held, segments } = await registerFor(13).catch(() => registerFor(6));
    const unknown = repeat(
      32,
      calls(place, noTemplate(segments), () => ({})),
    );
    return async (stopped) => {
      const own = await unknown(stopped);
      held.cancel();
      return `${2 ** segments} templates; ${own}`;
    };
  },
};

/** No load: the others are compared with this. */
const nobody: Neighbour = { prepare: async () => async () => "" };

export const NEIGHBOURS: Readonly<Record<string, Neighbour>> = {
  nobody,
  "scans-100": scans(100),
  "scans-600": scans(600),
  "full-cache": fullCache,
  "full-otp": fullOtp,
  "unfinished-bodies": unfinishedBodies,
  registrations,
  templates,
};
