// What is sent in a secret field (`debug_redact`) is found nowhere: not in errors, the log, the audit trail or the metrics.
import { create, type DescField, toBinary } from "@bufbuild/protobuf";
import { FieldDescriptorProto_Type, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { Callers } from "../../src/contract/endpoint.js";
import { isSecret } from "../../src/contract/secrets.js";
import { Code, StatusError } from "../../src/errors.js";
import { part } from "../../src/rpc/service.js";
import { BYTES } from "../rpc/raw-service.js";
import { ask, deploy, login, post } from "./deployment.js";

const CANARY = "hunter2canary";
const LONG = CANARY.repeat(30);

/** A service of somebody else, whose contract marks a secret, and whose errors quote it. */
const Vault = { open: { path: "/vault.Vault/Open", requestStream: false, responseStream: false, ...BYTES } } as const;
const vault = {
  name: "vault",
  descriptors: toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: [
        {
          name: "vault.proto",
          package: "vault",
          syntax: "proto3",
          messageType: [
            {
              name: "Secret",
              field: [
                {
                  name: "pin",
                  jsonName: "pin",
                  number: 1,
                  type: FieldDescriptorProto_Type.STRING,
                  options: { debugRedact: true },
                },
              ],
            },
          ],
          service: [
            { name: "Vault", method: [{ name: "Open", inputType: ".vault.Secret", outputType: ".vault.Secret" }] },
          ],
        },
      ],
    }),
  ),
  parts: [
    part(Vault, {
      open(message: Buffer): never {
        const text = message.toString("latin1");
        if (text.includes("bug")) throw new TypeError(`cannot read ${text}`);
        throw new StatusError(
          text.includes("internal") ? Code.INTERNAL : Code.UNAVAILABLE,
          `no vault opens by ${text}`,
        );
      },
    }),
  ],
};

const deployment = await deploy(t.testdir(), { services: [vault], level: "debug" });
t.teardown(() => deployment.close());
const { handler, logged, catalog, metrics } = deployment;
// A key, because a password that is set ends logins.
const { secret } = await post(handler, "/v1/auth/Keys/Create", { name: "test" }, await login(handler, "admin"));
const token = String(secret);

const JSON_HEADERS = ["Content-Type", "application/json", "Authorization", `Bearer ${token}`];

/** Bodies in which the field holds the canary: one that fits, and others that are refused in each way. */
function bodiesFor({ jsonName, name }: Pick<DescField, "jsonName" | "name">): string[] {
  return [
    JSON.stringify({ [jsonName]: CANARY }),
    JSON.stringify({ [name]: LONG }),
    JSON.stringify({ [jsonName]: { [CANARY]: 1 } }),
    JSON.stringify({ [jsonName]: [CANARY] }),
    `{"${jsonName}":${CANARY}}`,
    `{"${jsonName}":"x"${CANARY}"}`,
    `{"${jsonName}":"${CANARY}`,
    `{"${jsonName}":"\\ud800${CANARY}"}`,
    `{"${jsonName}":"${CANARY}","${jsonName}":"${CANARY}"}`,
  ];
}

// Endpoints for enrolled callers are not to be reached through the gateway.
const targets = ["auth", "registry", "vault"].flatMap((service) => catalog.routes.targetsOf(service) ?? []);
const secrets = targets.flatMap(({ endpoint, input }) =>
  endpoint.callers === Callers.ENROLLED ? [] : input.fields.filter(isSecret).map((field) => ({ endpoint, field })),
);
t.equal(secrets.length, 6, "Login, Refresh, Create, SetPassword twice, Open");

for (const { endpoint, field } of secrets) {
  t.test(`${endpoint.name}: ${field.name} is repeated in no error`, async (t) => {
    const [, grpcService, method] = endpoint.path.split("/");
    const paths = [`/v1/${endpoint.service}/${grpcService?.split(".").at(-1)}/${method}`, endpoint.path];
    for (const target of paths) {
      for (const body of bodiesFor(field)) {
        const headers = target === endpoint.path ? [...JSON_HEADERS, "Connect-Protocol-Version", "1"] : JSON_HEADERS;
        const answer = await ask(handler, { method: "POST", target, headers, body });
        t.not(answer.status, 404, target);
        // A service's own words to its own caller are passed on.
        if (endpoint.service !== "vault" || answer.status === 400) t.notMatch(answer.body, CANARY, `${target} ${body}`);
      }
    }
    const inQuery = `${paths[0]?.replace("/v1", "")}?${field.jsonName}[${CANARY}]=1`;
    t.notMatch((await ask(handler, { target: inQuery, headers: JSON_HEADERS.slice(2) })).body, CANARY);
  });
}

t.test("a name that no account has, typed in place of the password", async (t) => {
  const message = { account: CANARY, password: CANARY, namespace: "" };
  await t.rejects(post(handler, "/v1/auth/Login", message, token), /Wrong account or password/);
});

t.test("errors and bugs of a service that quote a secret", async (t) => {
  for (const kind of ["bug", "internal", "unavailable"]) {
    const body = JSON.stringify({ pin: `${kind} ${CANARY}` });
    const { status } = await ask(handler, { method: "POST", target: "/vault/Open", headers: JSON_HEADERS, body });
    t.equal(status, kind === "unavailable" ? 503 : 500);
  }
  const failures = logged.filter(({ endpoint }) => endpoint === "vault:Vault.Open");
  t.match(failures.map(({ failure }) => failure).join("\n"), /UNAVAILABLE: the service's message is not logged/);
  const [bug] = failures.filter(({ msg }) => msg === "an endpoint failed unexpectedly");
  t.match(
    bug,
    { err: { message: /^TypeError; its message is not logged/, stack: /^ +at .*open/ } },
    "where a bug is stays in the log",
  );
});

t.test("a body of an agent that is not JSON", async (t) => {
  for (const [body, where] of [
    [`{"jsonrpc":"2.0","params":{"arguments":{"password":${CANARY}}}}`, /JSON/],
    [`{"password":"x"${CANARY}"}`, /at position 15/],
  ] as const) {
    const answer = await ask(handler, { method: "POST", target: "/mcp", headers: JSON_HEADERS, body });
    t.equal(answer.status, 400);
    t.match(answer.body, where);
    // Errors of JSON.parse quote some ten characters.
    t.notMatch(answer.body, CANARY.slice(0, 5));
  }
});

t.test("nothing of it stands in the log, the audit trail or the metrics", async (t) => {
  const { records } = await post(handler, "/v1/auth/Audit/List", { limit: 1000 }, token);
  t.notMatch(JSON.stringify(records), CANARY);
  t.ok((records as unknown[]).length > 0);
  t.ok(logged.length > 50);
  for (const line of logged) t.notMatch(JSON.stringify(line), CANARY);
  t.notMatch(await metrics.text(), CANARY);
});
