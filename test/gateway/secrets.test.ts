// The content of a secret field (`debug_redact`) appears nowhere, whatever protocol it was sent by:
// not in errors, the log, the audit trail or the metrics. Descriptions of such a field mark it as
// secret.
import { once } from "node:events";
import { create, type DescField, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { FieldDescriptorProto_Type, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { pino } from "pino";
import t from "tap";
import { WebSocket } from "ws";
import { parts as otpParts } from "../../services/otp/otp.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { Callers, readDescriptors } from "../../src/contract/endpoint.js";
import { isSecret } from "../../src/contract/secrets.js";
import { Code, StatusError } from "../../src/errors.js";
import { createService } from "../../src/kit/service.js";
import { sharedStore } from "../../src/kit/shared-store.js";
import { part } from "../../src/rpc/service.js";
import { openServiceStore } from "../../src/store/open.js";
import { portico } from "../cli/command-line.js";
import { BYTES } from "../rpc/raw-service.js";
import { temporaryFolder } from "../support/temporary.js";
import { ask, deploy, login, post } from "./deployment.js";
import { send } from "./dialects/mcp/client.js";

const CANARY = "hunter2canary";
const LONG = CANARY.repeat(30);

/** An external service, whose contract marks a secret, and whose errors quote it. */
const Vault = {
  open: { path: "/vault.Vault/Open", requestStream: false, responseStream: false, ...BYTES },
  guess: { path: "/vault.Vault/Guess", requestStream: true, responseStream: true, ...BYTES },
} as const;

function opened(message: Buffer): never {
  const text = message.toString("latin1");
  if (text.includes("bug")) throw new TypeError(`cannot read ${text}`);
  throw new StatusError(text.includes("internal") ? Code.INTERNAL : Code.UNAVAILABLE, `no vault opens by ${text}`);
}

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
            {
              name: "Vault",
              method: [
                { name: "Open", inputType: ".vault.Secret", outputType: ".vault.Secret" },
                {
                  name: "Guess",
                  inputType: ".vault.Secret",
                  outputType: ".vault.Secret",
                  clientStreaming: true,
                  serverStreaming: true,
                },
              ],
            },
          ],
        },
      ],
    }),
  ),
  parts: [
    part(Vault, {
      open: opened,
      // biome-ignore lint/correctness/useYield: it fails with the first message.
      async *guess(messages: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
        for await (const message of messages) opened(message);
      },
    }),
  ],
};

const store = sharedStore(() => openServiceStore("sqlite:", temporaryFolder(t)));
const otp = createService(otpParts, {
  descriptors: descriptorsOf(),
  environment: {
    service: "otp",
    log: pino({ level: "silent" }),
    store,
    clients: () => {
      throw new Error("otp calls no other service");
    },
  },
});

const deployment = await deploy(t.testdir(), { services: [vault, otp], level: "debug" });
t.teardown(async () => {
  await deployment.close();
  await store.close();
});
const { handler, logged, catalog, metrics, gateway } = deployment;
// An API key, because setting a password ends logins.
const { secret } = await post(
  handler,
  "/v1/auth/Keys/Create",
  { name: "test", admin: true },
  await login(handler, "admin"),
);
const token = String(secret);

const JSON_HEADERS = ["Content-Type", "application/json", "Authorization", `Bearer ${token}`];

/**
 * Bodies in which the field has the canary: one that is valid, and others that are rejected for
 * different reasons.
 */
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
    // `subject` is the account that a code is for. The other messages have no such field.
    JSON.stringify({ subject: "ada", [jsonName]: CANARY }),
  ];
}

// Endpoints for enrolled callers cannot be reached through the gateway.
const targets = ["auth", "registry", "otp", "vault"].flatMap((service) => catalog.routes.targetsOf(service) ?? []);
const secrets = targets.flatMap(({ endpoint, input }) =>
  endpoint.callers === Callers.ENROLLED ? [] : input.fields.filter(isSecret).map((field) => ({ endpoint, field })),
);
t.equal(secrets.length, 9, "Login, Refresh, Create twice, SetPassword twice, Validate, Open, Guess");

/** The secret fields of a message and of its nested messages. */
function secretsWithin(type: DescMessage, seen = new Set<DescMessage>()): DescField[] {
  if (seen.has(type)) return [];
  seen.add(type);
  return type.fields.flatMap((field) => [
    ...(isSecret(field) ? [field] : []),
    ...(field.message === undefined ? [] : secretsWithin(field.message, seen)),
  ]);
}

t.test("this test sends every secret field of Portico's contracts", async (t) => {
  const nameOf = ({ parent, name }: DescField): string => `${parent.typeName}.${name}`;
  const asked = [...readDescriptors(descriptorsOf())].flatMap((type) =>
    type.kind === "service" ? type.methods.flatMap(({ input }) => secretsWithin(input)) : [],
  );
  const fieldsOf = ({ endpoint, input }: (typeof targets)[number]): DescField[] =>
    endpoint.callers === Callers.ENROLLED ? secretsWithin(input) : input.fields.filter(isSecret);
  const reached = new Set(targets.flatMap(fieldsOf).map(nameOf));
  t.same(
    [...new Set(asked.map(nameOf))].filter((name) => !reached.has(name)),
    [],
  );
});

for (const { endpoint, field } of secrets) {
  t.test(`${endpoint.name}: ${field.name} no error repeats it`, async (t) => {
    const [, grpcService, method] = endpoint.path.split("/");
    const paths = [`/v1/${endpoint.service}/${grpcService?.split(".").at(-1)}/${method}`, endpoint.path];
    for (const target of paths) {
      for (const body of bodiesFor(field)) {
        const headers = target === endpoint.path ? [...JSON_HEADERS, "Connect-Protocol-Version", "1"] : JSON_HEADERS;
        const response = await ask(handler, { method: "POST", target, headers, body });
        t.not(response.status, 404, target);
        // What a service writes to its own caller is passed on.
        if (endpoint.service !== "vault" || response.status === 400)
          t.notMatch(response.body, CANARY, `${target} ${body}`);
      }
    }
    const inQuery = `${paths[0]?.replace("/v1", "")}?${field.jsonName}[${CANARY}]=1`;
    t.notMatch((await ask(handler, { target: inQuery, headers: JSON_HEADERS.slice(2) })).body, CANARY);
  });
}

t.test("a password typed as the account name appears nowhere", async (t) => {
  const message = { account: CANARY, password: CANARY, namespace: "" };
  await t.rejects(post(handler, "/v1/auth/Login", message, token), /Wrong account or password/);
});

t.test("errors and bugs of a service do not reveal the secret that they quote", async (t) => {
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

t.test("a body that is not JSON, sent by MCP, is not quoted", async (t) => {
  for (const [body, where] of [
    [`{"jsonrpc":"2.0","params":{"arguments":{"password":${CANARY}}}}`, /JSON/],
    [`{"password":"x"${CANARY}"}`, /at position 15/],
  ] as const) {
    const response = await ask(handler, { method: "POST", target: "/mcp", headers: JSON_HEADERS, body });
    t.equal(response.status, 400);
    t.match(response.body, where);
    // Errors of JSON.parse quote about ten characters.
    t.notMatch(response.body, CANARY.slice(0, 5));
  }
});

/** The response of an endpoint over gRPC, as bytes in latin1: the error, or the message. */
async function overGrpc(path: string, message: Buffer): Promise<string> {
  const client = new Client(`127.0.0.1:${gateway.address.port}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  const same = (bytes: Buffer): Buffer => bytes;
  const response = await new Promise<string>((resolve) =>
    client.makeUnaryRequest(path, same, same, message, metadata, (error: ServiceError | null, value?: Buffer) =>
      resolve(error === null ? String(value?.toString("latin1")) : `${error.code} ${error.message}`),
    ),
  );
  client.close();
  return response;
}

/** A field of bytes on the wire. */
const onWire = (number: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]);

for (const { endpoint, field } of secrets.filter(({ endpoint }) => endpoint.shape === "unary")) {
  t.test(`${endpoint.name}: ${field.name} no error of gRPC repeats it`, async (t) => {
    const messages = {
      "a value that fits": onWire(field.number, Buffer.from(CANARY)),
      "no UTF-8": onWire(field.number, Buffer.from(`\xff${CANARY}`, "latin1")),
      "cut off": onWire(field.number, Buffer.from(CANARY)).subarray(0, -1),
      "no message": Buffer.from(CANARY),
    };
    for (const [title, message] of Object.entries(messages)) {
      const response = await overGrpc(endpoint.path, message);
      t.match(response, title === "a value that fits" ? /^(\d+ |$)/ : /^\d+ /, title);
      if (endpoint.service !== "vault") t.notMatch(response, CANARY.slice(0, 5), title);
    }
  });
}

/** The response of a WebSocket to a frame, until it is closed. */
async function overWebSocket(frame: string | Buffer): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.address.port}/v1/vault/Guess`, { headers });
  const frames: string[] = [];
  socket.on("message", (data) => frames.push(String(data)));
  socket.once("open", () => socket.send(frame));
  const [code, reason] = await once(socket, "close");
  return [...frames, `${code} ${reason}`].join("\n");
}

t.test("no error of the gateway over a WebSocket repeats it", async (t) => {
  for (const frame of bodiesFor({ name: "pin", jsonName: "pin" }).slice(2)) {
    const response = await overWebSocket(frame);
    t.match(response, /"Code":400/, frame);
    t.notMatch(response, CANARY, frame);
  }
  for (const kind of ["bug", "internal", "unavailable"])
    t.match(await overWebSocket(JSON.stringify({ pin: `${kind} ${CANARY}` })), /"Code":50[03]/, kind);
  const response = await overWebSocket(Buffer.from(CANARY));
  t.match(response, /"Code":415/);
  t.notMatch(response, CANARY);
});

t.test("no error of the gateway on the command line repeats it", async (t) => {
  const env = { PORTICO_URL: `http://127.0.0.1:${gateway.address.port}`, PORTICO_TOKEN: token };
  const wrong = bodiesFor({ name: "pin", jsonName: "pin" }).slice(2);
  const rows: [args: string[], stdin: string][] = [
    ...wrong.map((body): [string[], string] => [["call", "vault", "Open", body], ""]),
    ...wrong.map((body): [string[], string] => [["call", "vault", "Open", "-"], body]),
    ...wrong.map((body): [string[], string] => [["call", "vault", "Guess"], body]),
    [["vault", "open", `--pin=bug ${CANARY}`], ""],
    [["vault", "open", `--pin[${CANARY}]=1`], ""],
    [["auth", "create", "account", "b/b", "--password-stdin"], CANARY],
    [["login", "--account=nobody", "--password-stdin"], CANARY],
  ];
  for (const [args, stdin] of rows) {
    const { exit, stdout, stderr } = await portico(args, { env: { ...env, HOME: t.testdirName }, stdin });
    t.not(exit, 0, args.join(" "));
    t.notMatch(stdout + stderr, CANARY, `${args.join(" ")} < ${stdin}: ${stderr}`);
  }
});

t.test("descriptions of a request mark it, for people and for models", async (t) => {
  const target = "/openapi/vault.json";
  const { schemas } = JSON.parse((await ask(handler, { target, headers: JSON_HEADERS.slice(2) })).body).components;
  t.match(schemas["vault.Secret-input"].properties.pin, { format: "password", writeOnly: true });
  const { pin } = schemas["vault.Secret-output"].properties;
  t.strictSame([pin.format, pin.writeOnly], ["password", undefined], "responses contain the field");
  const { body } = await send(handler, "tools/list", {}, { token });
  const tool = body.result.tools.find(({ name }: { name: string }) => name === "vault.Open");
  t.match(tool.inputSchema.properties.pin, { format: "password", writeOnly: true });
  t.equal(tool.outputSchema.properties.pin.writeOnly, undefined);
});

t.test("no part of it is in the log, the audit trail or the metrics", async (t) => {
  const { records } = await post(handler, "/v1/auth/Audit/List", { limit: 1000 }, token);
  t.notMatch(JSON.stringify(records), CANARY);
  t.ok((records as unknown[]).length > 0);
  const env = { PORTICO_URL: `http://127.0.0.1:${gateway.address.port}`, PORTICO_TOKEN: token };
  const exported = await portico(["auth", "export", "audit"], { env: { ...env, HOME: t.testdirName } });
  t.match(exported.stdout, /"action":"key created"/);
  for (const never of [CANARY, token]) t.notMatch(exported.stdout, never);
  t.ok(logged.length > 50);
  for (const line of logged) t.notMatch(JSON.stringify(line), CANARY);
  t.notMatch(await metrics.text(), CANARY);
});
