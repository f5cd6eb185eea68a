// What holds for every endpoint of every service of the catalogue: the cases are generated from the contracts.
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { OWN_SERVICES } from "../../cli/roles/own-services.js";
import { exampleOf } from "../../gateway/openapi/examples.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { httpStatus, StatusError } from "../../src/errors.js";
import { JsonError } from "../../src/json/codec.js";
import { type As, type Calls, type Message, serveCatalogue } from "../support/catalogue.js";

/** Services whose data belongs to the account that calls. */
const OF_ACCOUNTS = new Set(["notes", "otp", "url", "wallet"]);
/** Endpoints of these that everyone may call. */
const FOR_ALL = new Set(["Resolve"]);
/** What makes the data that the other examples are about. */
const FIRST = ["CreateTable", "Create", "Set", "Push", "Publish", "Credit", "Generate", "Shorten"];
/** What takes it away. */
const LAST = ["Pop", "Truncate", "Delete", "DeleteTopic", "RenameTable", "DropTable", "Validate"];

const services = await Promise.all(
  Object.entries(OWN_SERVICES).map(async ([service, load]) => ({ service, parts: await load() })),
);

/** The status that a call is answered with, by HTTP's numbers, and the answer or the message. */
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

const exampleFor = ({ method }: Endpoint): object => (exampleOf(method.input, "input") ?? {}) as object;
const isRead = ({ method }: Endpoint): boolean => method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;

function inOrder(endpoints: readonly Endpoint[]): Endpoint[] {
  const place = ({ method: { name } }: Endpoint) => (FIRST.includes(name) ? 0 : LAST.includes(name) ? 2 : 1);
  return [...endpoints].sort((one, other) => place(one) - place(other));
}

/** Values that a field of a type may be sent with and that few services expect. */
function oddValues(field: DescField): unknown[] {
  const one = (): unknown[] => {
    if (field.message !== undefined) return oddMessages(field.message);
    if (field.enum !== undefined) return [0, 1, 99, -1, "NO_SUCH"];
    switch (field.scalar) {
      case ScalarType.STRING:
        return ["", " ", "\u0000", "\n", "a/b", "..", "__proto__", "é\ud83d\ude00", "\ud800", "x".repeat(70_000)];
      case ScalarType.BYTES:
        return ["", "AA==", "?"];
      case ScalarType.BOOL:
        return [true, false];
      default:
        return [0, -1, 1, 2147483647, -2147483648, "9223372036854775807", "-9223372036854775808", 1.5, "x"];
    }
  };
  if (field.fieldKind === "list") return [[], [null], ...one().map((value) => [value]), Array(200).fill(one()[2])];
  return [...one(), null, [], {}, "text"];
}

function oddMessages({ typeName }: DescMessage): unknown[] {
  switch (typeName) {
    case "google.protobuf.Duration":
      return ["0s", "-1s", "0.000000001s", "315576000000s", "1"];
    case "google.protobuf.Timestamp":
      return ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "now"];
    case "google.protobuf.Struct":
      return [{}, { "": null }, { ["__proto__"]: 1 }, { a: { b: [{ c: null }] } }, { a: "x".repeat(70_000) }];
    case "google.protobuf.Value":
      return [null, true, 0, "", [], {}, [[1]], { a: null }];
    default:
      return [
        {},
        { field: "a" },
        { field: ".", value: 1 },
        { and: [{}] },
        { not: { not: { field: "a" } } },
        { or: [{ field: "a" }] },
      ];
  }
}

for (const { service, parts } of services) {
  t.test(`${service}: no request is answered as a fault of the service`, async (t) => {
    const calls = serveCatalogue(t, service, parts);
    for (const endpoint of inOrder(calls.endpoints)) {
      const example = exampleFor(endpoint);
      const requests = endpoint.method.input.fields.flatMap((field) =>
        oddValues(field).map((value) => ({ ...example, [field.jsonName]: value })),
      );
      const faults: unknown[] = [];
      for (const request of [{}, example, ...requests]) {
        const [status, answer] = await answerOf(calls, endpoint, request);
        if (status >= 500) faults.push({ request: JSON.stringify(request).slice(0, 100), status, answer });
      }
      t.same(faults, [], endpoint.method.name);
    }
  });
}

for (const { service, parts } of services) {
  const calls = serveCatalogue(t, service, parts);
  const [ada, empty] = [calls, serveCatalogue(t, service, parts)];
  const others: Record<string, As> = { "another namespace": { namespace: "other" } };
  if (OF_ACCOUNTS.has(service)) others["another account"] = { account: "bob" };

  for (const [title, as] of Object.entries(others)) {
    t.test(`${service}: ${title} is answered as if there was no data`, async (t) => {
      for (const endpoint of inOrder(calls.endpoints).filter(({ method }) => !LAST.includes(method.name))) {
        await answerOf(ada, endpoint, exampleFor(endpoint));
      }
      // What generates is random; what everyone may call is no secret.
      const reads = calls.endpoints.filter(
        (endpoint) =>
          isRead(endpoint) &&
          !["Generate", "Types"].includes(endpoint.method.name) &&
          !(as.account !== undefined && FOR_ALL.has(endpoint.method.name)),
      );
      for (const endpoint of reads) {
        const request = exampleFor(endpoint);
        const expected = await answerOf(empty, endpoint, request, as);
        t.same(await answerOf(ada, endpoint, request, as), expected, endpoint.method.name);
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

/** Endpoints whose example is refused in the state that the other examples leave. */
const REFUSED = new Map([["wallet:Wallet.Delete", "The wallet ada has a balance of 1000: debit it first"]]);

for (const { service, parts } of services) {
  t.test(`${service}: the examples of the documentation are accepted`, async (t) => {
    const calls = serveCatalogue(t, service, parts);
    for (const endpoint of inOrder(calls.endpoints)) {
      const [status, answer] = await answerOf(calls, endpoint, exampleFor(endpoint));
      const refusal = REFUSED.get(endpoint.name);
      if (refusal !== undefined) t.same([status, answer], [400, refusal], endpoint.name);
      // An example cannot know the ID that a note was given, nor that another example deleted or renamed the table.
      else t.ok([200, 404, 409].includes(status), `${endpoint.name}: ${status} ${JSON.stringify(answer)}`);
    }
  });
}
