// A google.protobuf.Any of a type that the contract lacks. google.rpc is built in, the gateway asks
// for other types by reflection, and a value of an unknown type is shown as bytes.
import { create, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema, file_google_protobuf_any } from "@bufbuild/protobuf/wkt";
import t from "tap";
import { WebSocket } from "ws";
import { Code, StatusError } from "../../../src/errors.js";
import { Any } from "../../../src/gen/google/protobuf/any.js";
import type { Status } from "../../../src/rpc/channel.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { BYTES } from "../../rpc/raw-service.js";
import { dispatcherOf, listen } from "../../rpc/serve.js";
import { deferred } from "../../support/deferred.js";
import { inTime, until } from "../../support/until.js";
import { ask, deploy, login, post } from "../deployment.js";
import { send as mcp } from "./mcp/client.js";

const method = (name: string, serverStreaming = false) => ({
  name,
  inputType: ".google.protobuf.Any",
  outputType: ".google.protobuf.Any",
  serverStreaming,
});
const contract = {
  name: "vault.proto",
  package: "vault",
  syntax: "proto3",
  dependency: ["google/protobuf/any.proto"],
  service: [{ name: "Vault", method: [method("Echo"), method("Twice", true), method("Fail"), method("Give")] }],
};
const hidden = {
  name: "hidden.proto",
  package: "acme",
  syntax: "proto3",
  messageType: [{ name: "Coin", field: [{ name: "face_value", jsonName: "faceValue", number: 1, type: 5, label: 1 }] }],
  service: [{ name: "Mint", method: [{ name: "Make", inputType: ".acme.Coin", outputType: ".acme.Coin" }] }],
};
const descriptors = Buffer.from(
  toBinary(
    FileDescriptorSetSchema,
    create(FileDescriptorSetSchema, {
      file: [file_google_protobuf_any.proto, create(FileDescriptorProtoSchema, contract)],
    }),
  ),
);

const A_COIN: Any = { typeUrl: "type.googleapis.com/acme.Coin", value: Buffer.from([8, 5]) };

const vault: Service = {
  name: "vault",
  descriptors,
  parts: [
    part(
      {
        echo: { path: "/vault.Vault/Echo", requestStream: false, responseStream: false, ...BYTES },
        twice: { path: "/vault.Vault/Twice", requestStream: false, responseStream: true, ...BYTES },
        fail: { path: "/vault.Vault/Fail", requestStream: false, responseStream: false, ...BYTES },
        give: { path: "/vault.Vault/Give", requestStream: false, responseStream: false, ...BYTES },
      } as const,
      {
        echo: (message: Buffer) => message,
        async *twice(message: Buffer) {
          const sent = message.length === 0 ? Buffer.from(Any.encode(A_COIN).finish()) : message;
          yield sent;
          yield sent;
        },
        // If no detail is sent, the detail is a coin, so that only the response has a type that the
        // gateway does not know.
        fail: (message: Buffer) => {
          const detail = message.length === 0 ? A_COIN : Any.decode(message);
          throw new StatusError(Code.ABORTED, "no", { details: [detail] });
        },
        give: () => Buffer.from(Any.encode(A_COIN).finish()),
      },
    ),
  ],
};

/** Another service of the same server. Reflection describes its types too. */
const mint: Service = {
  name: "mint",
  descriptors: Buffer.from(
    toBinary(
      FileDescriptorSetSchema,
      create(FileDescriptorSetSchema, { file: [create(FileDescriptorProtoSchema, hidden)] }),
    ),
  ),
  parts: [
    part({ make: { path: "/acme.Mint/Make", requestStream: false, responseStream: false, ...BYTES } } as const, {
      make: (message: Buffer) => message,
    }),
  ],
};

const server = await listen(t, dispatcherOf([vault, mint]));
const deployment = await deploy(t.testdir());
t.teardown(() => deployment.close());
const { host, port } = server.address as { host: string; port: number };
for (const [service, reflected] of [
  ["vault", true],
  ["blind", false],
] as const) {
  t.teardown(
    deployment.add({ service, addresses: [`${host}:${port}`], descriptors, grpcServices: ["vault.Vault"], reflected }),
  );
}
const base = `http://127.0.0.1:${deployment.gateway.address.port}`;

async function call(path: string, message: unknown): Promise<{ status: number; text: string }> {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${base}/${path}`, { method: "POST", headers, body: JSON.stringify(message) });
  return { status: response.status, text: await response.text() };
}

const COIN = { "@type": "type.googleapis.com/acme.Coin", value: "CAU=" };
const CANONICAL = '{"@type":"type.googleapis.com/acme.Coin","faceValue":5}';
const NONE = { "@type": "a/acme.None", value: "AQID" };

t.test("a value of a type that reflection does not know is bytes, in both directions", async (t) => {
  for (let time = 0; time < 3; time++)
    t.same(await call("vault/vault/echo", NONE), { status: 200, text: JSON.stringify(NONE) });
});

t.test("a value of a type that reflection knows is read and written as that type", async (t) => {
  const message = { "@type": "type.googleapis.com/acme.Coin", faceValue: 5 };
  for (let time = 0; time < 3; time++)
    t.same(await call("vault/vault/echo", message), { status: 200, text: CANONICAL });
  t.match(await call("vault/vault/echo", COIN), { status: 400, text: /no such field in acme.Coin/ });
});

t.test("messages of a stream, and details of errors", async (t) => {
  const message = { "@type": "type.googleapis.com/acme.Coin", faceValue: 5 };
  t.same(await call("vault/vault/twice", message), { status: 200, text: `${CANONICAL}\n${CANONICAL}\n` });
  t.match(JSON.parse((await call("vault/vault/fail", message)).text), { Code: 409, Details: [message] });
});

t.test("the first message of a stream waits for its type", async (t) => {
  const fresh = await deploy(t.testdir());
  t.teardown(() => fresh.close());
  const addresses = [`${host}:${port}`];
  fresh.add({ service: "vault", addresses, descriptors, grpcServices: ["vault.Vault"], reflected: true });
  const response = await fetch(`http://127.0.0.1:${fresh.gateway.address.port}/vault/vault/twice`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(COIN),
  });
  t.equal(await response.text(), `${CANONICAL}\n${CANONICAL}\n`);
});

t.test("while a server does not describe a type", async (t) => {
  let asked = 0;
  const silent = await deploy(t.testdir(), {
    readTypes() {
      asked++;
      return new Promise(() => {});
    },
  });
  t.teardown(() => silent.close());
  silent.add({
    service: "vault",
    addresses: [`${host}:${port}`],
    descriptors,
    grpcServices: ["vault.Vault"],
    reflected: true,
  });
  await until(() => silent.catalog.routes.targetsOf("vault") !== undefined);
  const gateway = `http://127.0.0.1:${silent.gateway.address.port}`;
  const post = async (path: string, headers: Record<string, string>, body = "") => {
    const response = fetch(`${gateway}/${path}`, { method: "POST", headers, body });
    const { status, headers: answered } = await inTime(response, `an answer of ${path}`);
    return { status, answered, text: await (await response).text() };
  };

  await t.test("callers that get details as bytes do not wait", async (t) => {
    const channel = new Http2Channel(silent.gateway.address);
    t.teardown(() => channel.close());
    const status = await new Promise<Status>((resolve) => {
      const start = { path: "/vault.Vault/Fail", metadata: [], deadlineMonotonicMs: undefined };
      const opened = channel.open(start, { onMessage() {}, onEnd: resolve });
      opened.send(Buffer.alloc(0));
      opened.end();
    });
    t.match(status, { code: Code.ABORTED, details: [{ typeUrl: A_COIN.typeUrl }] });
    const web = { "Content-Type": "application/grpc-web+proto" };
    t.match(await post("vault.Vault/Fail", web, "\0\0\0\0\0"), { text: /grpc-status-details-bin/ });
    const connect = { "Content-Type": "application/proto" };
    t.match(await post("vault.Vault/Fail", connect), { status: 409, text: /"type":"acme.Coin","value":"CAU"/ });
    t.equal(asked, 0, "no type was asked for");
  });

  for (const [path, status, text] of [
    ["give", 200, JSON.stringify(COIN)],
    ["fail", 409, `"Details":[${JSON.stringify(COIN)}]`],
    ["twice", 200, `${JSON.stringify(COIN)}\n`],
  ] as const) {
    await t.test(`the deadline of a call ends the wait: ${path}`, async (t) => {
      const headers = { "Content-Type": "application/json", "Grpc-Timeout": "500m" };
      const response = await post(`vault/vault/${path}`, headers, "{}");
      t.equal(response.status, status);
      t.ok(response.text.includes(text), response.text);
      t.equal(asked, 1, "the type was asked for, once");
    });
  }
});

t.test("a rule made while a message waits for its type refuses the call", async (t) => {
  const { promise: asked, resolve: onAsked } = deferred();
  const types = deferred<never>();
  const slow = await deploy(t.testdir(), {
    readTypes() {
      onAsked();
      return types.promise;
    },
  });
  t.teardown(() => slow.close());
  const addresses = [`${host}:${port}`];
  slow.add({ service: "vault", addresses, descriptors, grpcServices: ["vault.Vault"], reflected: true });
  await until(() => slow.catalog.routes.targetsOf("vault") !== undefined);
  const admin = await login(slow.handler, "admin");
  const body = JSON.stringify(COIN);
  const headers = ["Content-Type", "application/json"];
  const response = ask(slow.handler, { method: "POST", target: "/vault/vault/echo", headers, body });
  await asked;
  const rule = { id: "closed", scope: "<public>", access: "DENIED", resource: "service:vault:*", priority: 10 };
  await post(slow.handler, "/v1/auth/Rules/Create", { rule }, admin);
  types.reject(new Error("The server does not know the type"));
  t.equal((await response).status, 401);
});

t.test("if the contract was not read by reflection, the gateway asks for nothing", async (t) => {
  t.same(await call("blind/vault/echo", COIN), { status: 200, text: JSON.stringify(COIN) });
});

t.test("google.rpc and google.protobuf are built in", async (t) => {
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "R", domain: "d", metadata: { a: "b" } };
  t.same(await call("blind/vault/echo", info), { status: 200, text: JSON.stringify(info) });
  const text = { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "a" };
  t.same(await call("blind/vault/echo", text), { status: 200, text: JSON.stringify(text) });
});

t.test(
  "bytes of an unknown type pass in both directions, however a service without reflection is called",
  async (t) => {
    const text = JSON.stringify(NONE);
    const send = async (path: string, headers: Record<string, string>, body = text) => {
      const response = await fetch(`${base}/${path}`, { method: "POST", headers, body });
      return { status: response.status, text: await response.text() };
    };
    const json = { "Content-Type": "application/json" };
    t.same(await send("blind/vault/twice", json), { status: 200, text: `${text}\n${text}\n` });
    const events = await send("blind/vault/twice", { ...json, Accept: "text/event-stream" });
    t.equal(events.text.split(`data: ${text}\n`).length, 3, events.text);
    t.match(JSON.parse((await send("blind/vault/fail", json)).text), { Code: 409, Details: [NONE] });

    const own = { "Portico-Service": "blind" };
    const connect = { ...own, ...json, "Connect-Protocol-Version": "1" };
    t.same(await send("vault.Vault/Echo", connect), { status: 200, text });
    const frame = `\0\0\0\0${String.fromCharCode(text.length)}${text}`;
    const web = await send("vault.Vault/Echo", { ...own, "Content-Type": "application/grpc-web+json" }, frame);
    t.ok(web.text.includes(text), web.text);
    const { body } = await mcp(deployment.handler, "tools/call", { name: "blind.Echo", arguments: NONE });
    t.same(body.result.structuredContent, NONE);

    const socket = new WebSocket(`${base.replace("http", "ws")}/blind/vault/twice`);
    const received: string[] = [];
    socket.on("message", (data) => received.push(String(data)));
    socket.on("open", () => socket.send(text));
    await until(() => received.length === 2);
    t.same(received, [text, text]);
    socket.close();
  },
);
