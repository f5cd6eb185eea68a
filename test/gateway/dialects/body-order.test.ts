// No dialect gets a body before the guard has decided about its sender, whether the dialect routes
// by the path or by the body.
import t from "tap";
import { createHandler } from "../../../gateway/handler.js";
import { readHeaders } from "../../../gateway/http/headers.js";
import type { GatewayRequest } from "../../../gateway/http/message.js";
import { Hosts } from "../../../gateway/stages/cors.js";
import type { BodyRoute, Dialect } from "../../../gateway/stages/dialect.js";
import type { StageOptions } from "../../../gateway/stages/options.js";
import { RequestState } from "../../../gateway/stages/record.js";
import { findRoute, findRouteAtOnce } from "../../../gateway/stages/route.js";
import type { Admission, SigningGuard } from "../../../src/call/admission.js";
import { loadConfig } from "../../../src/config/config.js";
import { Callers } from "../../../src/contract/endpoint.js";
import { Code, StatusError } from "../../../src/errors.js";
import { createLog } from "../../../src/log.js";
import { Metrics } from "../../../src/metrics.js";
import { deferred } from "../../support/deferred.js";
import { deploy } from "../deployment.js";

const deployment = await deploy(t.testdir(), { bound: true });
t.teardown(() => deployment.close());
const { catalog, guard } = deployment;

/** A guard whose decision the test starts. */
function waiting() {
  const decision = deferred<Admission>();
  const asked = deferred<void>();
  const admit = (): Promise<Admission> => {
    asked.resolve();
    return decision.promise;
  };
  const waits: SigningGuard = {
    admit,
    admitAtOnce: () => undefined,
    allows: () => true,
    count: () => undefined,
    follow: (admission, listener) => guard.follow(admission, listener),
    assertionOf: (admission) => guard.assertionOf(admission),
    onChange() {},
  };
  return { waits, decision, asked: asked.promise };
}

/** A POST that records which code reads its body. */
function post(target: string, contentType: string) {
  const reads: string[] = [];
  const read = (name: string) => (): never => {
    reads.push(name);
    throw new Error(`${name} was read`);
  };
  const rawHeaders = ["Host", "portico.test", "Content-Type", contentType, "Content-Length", "2"];
  const request: GatewayRequest = {
    ...{ method: "POST", target, rawHeaders, headers: readHeaders(rawHeaders), remoteAddress: "192.0.2.1" },
    ...{ body: read("body"), arrivedBody: read("arrivedBody"), chunks: read("pieces") },
    ...{ tryReserveResponse: () => true, tryReserveBody: () => true, onAbort() {}, sendsTrailers: true },
  };
  return { request, reads };
}

const REQUESTS: readonly (readonly [dialect: string, target: string, contentType: string])[] = [
  ["json", "/helloworld/call", "application/json"],
  ["http-rule", "/bound/helloworld.Helloworld/Call", "application/json"],
  ["grpc", "/helloworld.Helloworld/Call", "application/grpc"],
  ["grpc-web", "/helloworld.Helloworld/Call", "application/grpc-web+proto"],
  ["connect", "/helloworld.Helloworld/Call", "application/proto"],
  ["mcp", "/mcp", "application/json"],
];

for (const [dialect, target, contentType] of REQUESTS) {
  t.test(`${dialect} reads no body before the guard's decision, and none of a refused caller`, async (t) => {
    const { waits, decision, asked } = waiting();
    const logged: Record<string, unknown>[] = [];
    const handler = createHandler({
      ...{ catalog, guard: waits, own: [], metrics: new Metrics(), config: loadConfig({}, {}) },
      hosts: await Hosts.of({ host: "127.0.0.1", port: 0 }, "*"),
      log: createLog("info", { write: (line) => logged.push(JSON.parse(line)) }),
    });
    const { request, reads } = post(target, contentType);
    const response = handler(request);
    await asked;
    await new Promise(setImmediate);
    t.same(reads, [], "while the guard decides");
    decision.reject(new StatusError(Code.UNAUTHENTICATED, "nobody"));
    await response;
    t.same(reads, [], "when it has refused");
    t.match(logged, [{ dialect, status: 401 }]);
  });
}

/** A dialect for this test, in which the body is the path of the endpoint. */
function byBody(got: Buffer[]): Dialect {
  const sending: BodyRoute["sending"] = {
    ...{ service: "made", name: "made:Up", resource: "service:made:Up", callers: Callers.PUBLIC },
    segments: { type: "service", name: "made", endpoint: "up" },
  };
  const made: Pick<Dialect, "name" | "findRoute"> = {
    name: "made",
    findRoute: (_head, routes) => ({
      ...{ sending, maxBody: 100 },
      findRoute: async (body) => {
        got.push(Buffer.concat(body));
        return routes.find(String(got.at(-1))) ?? { status: 404, body: "" };
      },
    }),
  };
  return { ...made, methods: () => ({ methods: ["POST"], header: ["Allow", "POST"] }) } as Partial<Dialect> as Dialect;
}

t.test("a dialect that routes by the body gets it when its sender has been admitted", async (t) => {
  const { waits, decision, asked } = waiting();
  const got: Buffer[] = [];
  const dialect = byBody(got);
  const options = {
    ...{ catalog, guard: waits, own: [], cors: { isCrossOrigin: () => false } },
    dialects: { of: () => dialect, ofRefused: () => dialect, byPath: [] },
  } as unknown as StageOptions;
  const { request, reads } = post("/up", "text/plain");
  const body = () => {
    reads.push("body");
    return [Buffer.from("/helloworld/call")];
  };
  const state = new RequestState(request, dialect);
  t.equal(findRouteAtOnce(request, state, options), undefined, "it is not found by the head");
  const found = findRoute({ ...request, body }, state, options);
  await asked;
  await new Promise(setImmediate);
  t.same(reads, [], "while the guard decides");
  decision.resolve({ endpoint: {} as Admission["endpoint"], caller: undefined, namespace: "default" });
  t.match(await found, { target: { endpoint: { name: "helloworld:Helloworld.Call" } } });
  t.same([reads, got.map(String)], [["body"], ["/helloworld/call"]]);
});

t.test("the types do not let a dialect see the body of a request that is not admitted", async (t) => {
  const early = (request: GatewayRequest): never => request.body() as never;
  // If tsc accepts one of these, it reports that the line below the comment has no error.
  const refused: readonly Partial<Dialect>[] = [
    // @ts-expect-error
    { findRoute: early },
    // @ts-expect-error
    { methods: early },
    // @ts-expect-error
    { checkBody: early },
    // @ts-expect-error
    { takesChunks: early },
    // @ts-expect-error
    { isEncoded: early },
    // @ts-expect-error
    { writeError: early },
  ];
  t.equal(refused.length, 6);
});
