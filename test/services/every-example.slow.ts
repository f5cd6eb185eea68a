// Every endpoint with the example of its documentation: it is accepted. If data belongs to
// accounts, an account cannot see or remove another account's data.
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { exampleOf } from "../../gateway/openapi/examples.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { httpStatus, StatusError } from "../../src/errors.js";
import { JsonError } from "../../src/json/codec.js";
import { ask, deploy, login } from "../gateway/deployment.js";
import { type As, type Calls, type Message, serveCatalogue } from "../support/catalogue.js";

/** Services whose data belongs to the account that calls. */
const OF_ACCOUNTS = new Set(["notes", "otp", "url", "wallet"]);
/** Endpoints of these services that every caller may use. */
const FOR_ALL = new Set(["Resolve"]);
/** Endpoints that create the data for the other examples. */
const FIRST = ["CreateTable", "Create", "Set", "Push", "Publish", "Credit", "Generate", "Shorten"];
/** Endpoints that remove this data. */
const LAST = ["Pop", "Truncate", "Delete", "DeleteTopic", "RenameTable", "DropTable", "Validate"];

const services = await Promise.all(
  Object.entries(BUILT_IN_SERVICES).map(async ([service, load]) => ({ service, parts: await load() })),
);

/** The HTTP status of a call, with the response or the error's message. */
async function answerOf(
  { call, stream }: Calls,
  { method }: Endpoint,
  request: object,
  as?: As,
): Promise<[number, Message]> {
  try {
    if (method.methodKind === "unary") return [200, await call(method.name, request, as)];
    const leave = AbortSignal.timeout(50);
    const { value } = await stream(method.name, request, { ...as, signal: leave }).next();
    return [200, value ?? null];
  } catch (error) {
    if (error instanceof JsonError) return [400, error.message];
    if (error instanceof StatusError) return [httpStatus(error.code), error.message];
    throw error;
  }
}

/**
 * A position counts the changes of all accounts, as docs/decisions/0087-changes-of-a-collection.md
 * says.
 */
function withoutPosition([status, response]: [number, Message]): [number, unknown] {
  const isObject = typeof response === "object" && response !== null;
  return [status, isObject ? { ...response, position: undefined } : response];
}

const exampleFor = ({ method }: Endpoint): object => (exampleOf(method.input, "input") ?? {}) as object;
const isRead = ({ method }: Endpoint): boolean => method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;

function inOrder(endpoints: readonly Endpoint[]): Endpoint[] {
  const place = ({ method: { name } }: Endpoint) => (FIRST.includes(name) ? 0 : LAST.includes(name) ? 2 : 1);
  return [...endpoints].sort((one, other) => place(one) - place(other));
}

for (const { service, parts } of services) {
  const calls = serveCatalogue(t, service, parts);
  const [ada, empty] = [calls, serveCatalogue(t, service, parts)];
  const as: As = { account: "bob" };

  if (OF_ACCOUNTS.has(service)) {
    t.test(`${service}: another account gets the same responses as if there was no data`, async (t) => {
      for (const endpoint of inOrder(calls.endpoints).filter(({ method }) => !LAST.includes(method.name))) {
        await answerOf(ada, endpoint, exampleFor(endpoint));
      }
      // Generated values are random, and data that every caller may read is not secret.
      const reads = calls.endpoints.filter(
        (endpoint) =>
          isRead(endpoint) &&
          !["Generate", "Types"].includes(endpoint.method.name) &&
          !FOR_ALL.has(endpoint.method.name),
      );
      for (const endpoint of reads) {
        const request = exampleFor(endpoint);
        const expected = await answerOf(empty, endpoint, request, as);
        const got = await answerOf(ada, endpoint, request, as);
        t.same(withoutPosition(got), withoutPosition(expected), endpoint.method.name);
      }
      const readAll = () => Promise.all(reads.map((endpoint) => answerOf(ada, endpoint, exampleFor(endpoint))));
      const before = await readAll();
      for (const endpoint of calls.endpoints.filter(({ method }) => LAST.includes(method.name))) {
        await answerOf(ada, endpoint, exampleFor(endpoint), as);
      }
      t.same(await readAll(), before, "and takes nothing away");
    });
  }
}

/** Endpoints whose example is refused because of what the examples before it have done. */
const REFUSED = new Map([["wallet:Wallet.Delete", "The wallet ada has a balance of 1000: debit it first"]]);

for (const { service, parts } of services) {
  t.test(`${service}: the examples of the documentation are accepted`, async (t) => {
    const calls = serveCatalogue(t, service, parts);
    for (const endpoint of inOrder(calls.endpoints)) {
      const [status, response] = await answerOf(calls, endpoint, exampleFor(endpoint));
      const refusal = REFUSED.get(endpoint.name);
      if (refusal !== undefined) t.same([status, response], [400, refusal], endpoint.name);
      // An example cannot have the ID that a note got. It may also come after an example that
      // deleted or renamed the table.
      else t.ok([200, 404, 409].includes(status), `${endpoint.name}: ${status} ${JSON.stringify(response)}`);
    }
  });
}

/** Endpoints of Portico itself whose requests need a secret. No example has one. */
const NEEDS_SECRET = new Set(["Auth.Login", "Auth.Refresh", "Accounts.SetPassword"]);

t.test("auth and registry: the examples of the documentation are accepted", async (t) => {
  const deployment = await deploy(t.testdir());
  t.teardown(() => deployment.close());
  const { handler } = deployment;
  const headers = ["Content-Type", "application/json", "Authorization", `Bearer ${await login(handler, "admin")}`];
  const paths: Message = {};
  for (const service of ["auth", "registry"]) {
    const { body } = await ask(handler, { target: `/openapi/${service}.json`, headers });
    Object.assign(paths, JSON.parse(body).paths);
  }
  let sent = 0;
  for (const [target, { post }] of Object.entries<Message>(paths)) {
    const example = post?.requestBody?.content["application/json"]?.example;
    // After Logout, the token is of no use.
    if (!target.startsWith("/v1/") || example === undefined || post.operationId === "Auth.Logout") continue;
    // test/services/auth/audit-export.test.ts reads the stream.
    if (NEEDS_SECRET.has(post.operationId) || post.operationId === "Audit.Export") continue;
    const { status, body } = await ask(handler, { method: "POST", target, headers, body: JSON.stringify(example) });
    t.ok([200, 404, 409].includes(status), `${target} ${JSON.stringify(example)}: ${status} ${body}`);
    sent++;
  }
  t.ok(sent > 20, `${sent} endpoints`);
});
