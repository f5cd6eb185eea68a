/**
 * Rules for every endpoint of every built-in service: bad input is the caller's error and the error
 * names the field, and a namespace sees no data of another one. A new service is tested as soon as
 * it is in BUILT_IN_SERVICES.
 */
import t from "tap";
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { exampleOf } from "../../gateway/openapi/examples.js";
import type { Endpoint } from "../../src/contract/endpoint.js";
import { Code, httpStatus, StatusError } from "../../src/errors.js";
import { JsonError } from "../../src/json/codec.js";
import { badRequests } from "../support/bad-fields.js";
import { type As, type Calls, serveCatalogue } from "../support/catalogue.js";

/** How long a granted stream may be silent before the test continues, in milliseconds. */
const SILENCE_MS = 50;

/** Services that store nothing and accept texts of any length that fits into a body. */
const TAKES_ANY_LENGTH: ReadonlySet<string> = new Set(["helloworld"]);

/** Names of endpoints that may leave no data for later requests. */
const TAKES_AWAY = /^(?:Delete|Drop|Truncate|Pop|Remove|Rename|Clear)/;

/** A request as the documents show it. */
const exampleFor = ({ method }: Endpoint) => exampleOf(method.input, "input") as Record<string, unknown>;

/**
 * The response, or the first message of a stream. An error is returned with the gateway's status
 * for it.
 */
async function answerOf(calls: Calls, endpoint: Endpoint, request: object, as: As = {}) {
  const { name, methodKind } = endpoint.method;
  try {
    if (methodKind === "unary") return { status: 200, response: await calls.call(name, request, as) };
    const stream = calls.stream(name, request, as);
    const silence = new Promise((resolve) => setTimeout(resolve, SILENCE_MS, { value: undefined }));
    const first = (await Promise.race([stream.next(), silence])) as IteratorResult<unknown>;
    return { status: 200, response: first.value };
  } catch (error) {
    if (error instanceof JsonError) return { status: 400, code: Code.INVALID_ARGUMENT, detail: error.message };
    const { code, message, cause } = StatusError.from(error);
    return { status: httpStatus(code), code, detail: message, cause };
  }
}

/** The endpoints that do not take a stream of requests, because the harness sends one request. */
const served = (calls: Calls) =>
  calls.endpoints.filter(({ method }) => ["unary", "server_streaming"].includes(method.methodKind));

for (const [service, load] of Object.entries(BUILT_IN_SERVICES)) {
  t.test(`${service}: bad input is an error of the caller, and the error names the field`, async (t) => {
    const calls = serveCatalogue(t, service, await load());
    const [creates] = served(calls);
    for (const endpoint of served(calls)) {
      // By convention the first endpoint creates the data that the others need.
      if (creates !== undefined) await answerOf(calls, creates, exampleFor(creates));
      for (const { path, name, what, request } of badRequests(endpoint.method.input, exampleFor(endpoint))) {
        const { status, code, detail, cause } = await answerOf(calls, endpoint, request);
        const title = `${endpoint.name}: ${path}: ${what}: ${status} ${detail?.slice(0, 200)}`;
        const isRefused = status >= 400 && status < 500;
        if (what === "over-long" && TAKES_ANY_LENGTH.has(service)) continue;
        if (what === "extreme" ? status >= 500 : !isRefused) t.fail(title, { cause });
        else if (what !== "extreme") t.ok(namesField(detail, name), title);
        else if (code === Code.INVALID_ARGUMENT) t.match(detail, /^[a-z]\w*(?:\.\w+|\[\d+\])*: /, title);
      }
    }
  });

  for (const [title, one, other] of [
    ["a namespace sees nothing of another", { namespace: "acme" }, { namespace: "other" }],
    [
      "a namespace sees nothing of an earlier one of its name",
      { namespace: "acme" },
      { namespace: "acme", namespaceId: "second" },
    ],
    [
      "and nothing of one that was created anew before it",
      { namespace: "acme", namespaceId: "first" },
      { namespace: "acme", namespaceId: "second" },
    ],
  ] as const) {
    t.test(`${service}: ${title}`, async (t) => {
      const calls = serveCatalogue(t, service, await load());
      // The responses of a service without any data. Texts that these contain are no leak.
      const empty = serveCatalogue(t, service, await load());
      const seen = new Set<string>();
      const requested = new Set<string>();
      // Two rounds, so that reads also come after writes. Written texts are marked, if the service
      // accepts the marked request.
      for (let round = 0; round < 2; round++) {
        for (const endpoint of served(calls)) {
          if (TAKES_AWAY.test(endpoint.method.name)) continue;
          for (const request of [marked(exampleFor(endpoint)), exampleFor(endpoint)]) {
            const { response } = await answerOf(calls, endpoint, request, one);
            for (const text of textsIn([response, request])) seen.add(text);
            for (const text of textsIn(request)) requested.add(text);
          }
        }
      }
      const own = textsIn(served(calls).map(exampleFor));
      const generated = new Set([...seen].filter((text) => !requested.has(text)));
      for (const endpoint of served(calls)) {
        const example = exampleFor(endpoint);
        for (const request of [example, ...withTextsOf(example, generated)]) {
          const expected = await answerOf(empty, endpoint, request, other);
          const said = new Set([...own, ...textsIn([request, expected.response])]);
          const { response } = await answerOf(calls, endpoint, request, other);
          const leaked = textsIn(response).filter((text) => seen.has(text) && !said.has(text));
          t.same(leaked, [], endpoint.name);
        }
      }
    });
  }
}

function namesField(detail: string | undefined, name: string): boolean {
  return detail?.split(/[^A-Za-z0-9_]+/).includes(name) === true;
}

/** The texts of a message that are long enough to be unique. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return value.length >= 6 ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** The request with a suffix on each of its texts, to recognize them in responses. */
function marked(request: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(request).map(([name, value]) => [name, typeof value === "string" ? `${value}marked` : value]),
  );
}

/**
 * Requests in which one field has a text that the service generated for another namespace, such as
 * an ID.
 */
function withTextsOf(request: Readonly<Record<string, unknown>>, texts: ReadonlySet<string>): object[] {
  const fields = Object.keys(request).filter((name) => typeof request[name] === "string");
  const candidates = [...texts].filter((text) => text.length <= 64).slice(0, 20);
  return fields.flatMap((name) => candidates.map((text) => ({ ...request, [name]: text })));
}
