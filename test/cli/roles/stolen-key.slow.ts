// A thief of a service's enrolment token gets the calls of that service, and nothing else: no
// bearer token, no caller assertion that is valid elsewhere, and nothing at all after the enrolment
// is deleted.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parseAddress } from "../../../src/address/address.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { CONTEXT } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { HelloworldService } from "../../../src/gen/helloworld/helloworld.js";
import { AccountsService } from "../../../src/gen/portico/auth/v1/accounts.js";
import { Instance, RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { createLog } from "../../../src/log.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { register } from "../../../src/rpc/registration.js";
import { part, type Service } from "../../../src/rpc/service.js";
import { dispatcherOf, listen } from "../../rpc/serve.js";
import { helloworld } from "../../support/helloworld.js";
import { installation } from "../../support/installation.js";
import { administrator, call, start } from "../../support/process.js";
import { until } from "../../support/until.js";

/** The metadata of all calls to the thief's instance. */
const seen: Metadata[] = [];
const thief: Service = {
  ...helloworld,
  parts: [
    part(HelloworldService, {
      call(_request, { metadata }) {
        seen.push(metadata);
        return { message: "stolen", msg: "stolen" };
      },
      async *stream() {},
    }),
  ],
};

const data = await installation(t.testdir());
const portico = await start(["server"], { PORTICO_DATA: data });
t.teardown(() => portico.stop());
const http = portico.address("HTTP");
const admin = await administrator(http, data);
const stolen = readFileSync(join(data, "enrolment", "helloworld"), "utf8").trim();
const bearer: Metadata = [["authorization", `Bearer ${stolen}`]];
const channel = new GrpcChannel(parseAddress(portico.address("gRPC")));
t.teardown(() => channel.close());
const { host, port } = (await listen(t, dispatcherOf([thief]))).address;
const registration = register({
  channel,
  metadata: bearer,
  instance: Instance.fromPartial({
    service: "helloworld",
    id: "thief",
    addresses: [`${host}:${port}`],
    descriptors: Buffer.from(helloworld.descriptors),
    grpcServices: ["helloworld.Helloworld"],
    // The registry must ignore what an instance says about how it joined.
    joined: 1,
    identity: true,
  }),
  log: createLog("silent"),
});
t.teardown(() => registration.close());
await registration.registered();

/** Calls as the administrator until the thief has responded to `times` calls. */
async function callUntilStolen(times: number): Promise<void> {
  for (const before = seen.length; seen.length < before + times; ) {
    const response = await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, admin);
    if (response.status !== 200) throw new Error(JSON.stringify(response.body));
  }
}

await callUntilStolen(10);
const texts = seen.flat().map(([name, value]) => `${name}: ${value}`);
const context = String(seen[0]?.find(([name]) => name === CONTEXT)?.[1]);

t.test("the thief sees no bearer token in any call", async (t) => {
  t.same(
    texts.filter((text) => /pt[a-z]_|^authorization|^x-portico-(?!context|client-address)/.test(text)),
    [],
  );
});

t.test("a caller assertion that the thief received is refused by the gateway and by the authority", async (t) => {
  await call(`${http}/v1/auth/Rules/Delete`, { id: "default" }, admin);
  for (const headers of [
    { authorization: `Bearer ${context}` },
    { [CONTEXT]: context },
    { "x-portico-account": "admin", "x-portico-namespace": "default", [CONTEXT]: context },
  ]) {
    t.equal((await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, headers)).status, 401);
    t.equal((await call(`${http}/helloworld/Call`, { name: "Ada" }, headers)).status, 401);
    t.equal((await call(`${http}/v1/auth/Accounts/List`, {}, headers)).status, 401);
  }
  const rule = { id: "default", scope: "<public>", access: "GRANTED", resource: "*:*:*" };
  await call(`${http}/v1/auth/Rules/Create`, { rule }, admin);
  for (const metadata of [[[CONTEXT, context]], [["authorization", `Bearer ${context}`]]] as Metadata[]) {
    await t.rejects(unary(channel, AccountsService.list, { pageSize: 0, pageToken: "" }, { metadata }), {
      code: Code.UNAUTHENTICATED,
    });
  }
  await t.rejects(unary(channel, AccountsService.list, { pageSize: 0, pageToken: "" }, { metadata: bearer }), {
    code: Code.UNAUTHENTICATED,
  });
});

t.test("the stolen token does not show which other services are registered", async (t) => {
  const watch = stream(channel, RegistryService.watch, { metadata: bearer });
  watch.send({ confirmed: 0n });
  watch.end();
  await t.rejects(watch.responses[Symbol.asyncIterator]().next(), { code: Code.PERMISSION_DENIED });
});

t.test("a client of the HTTP port cannot send the headers that only the gateway sends", async (t) => {
  const from = seen.length;
  await until(async () => {
    await call(`${http}/helloworld/Call`, { name: "Ada" }, { [CONTEXT]: context, "x-portico-account": "admin" });
    return seen.length > from;
  });
  const sent = seen.slice(from).flat();
  t.notOk(sent.some(([name, value]) => name === "x-portico-account" || value === context));
});

t.test("after the enrolment is deleted, the thief gets no calls, and its caller assertions are refused", async (t) => {
  await callUntilStolen(1);
  const last = String(seen.at(-1)?.find(([name]) => name === CONTEXT)?.[1]);
  const answered = await unary(channel, HelloworldService.call, { name: "Ada" }, { metadata: [[CONTEXT, last]] });
  t.equal(answered.message, "Hello Ada", "until then it is good for the endpoint it was sent to");
  await call(`${http}/v1/auth/Enrolments/Delete`, { name: "helloworld" }, admin);
  await t.rejects(unary(channel, HelloworldService.call, { name: "Ada" }, { metadata: [[CONTEXT, last]] }));
  // The gateway learns it from the registry's watch, so calls in progress may still reach the
  // instance.
  const out = async () => (await call(`${http}/v1/registry/List`, {}, admin)).body as { services: Listed[] };
  await until(async () => (await out()).services.find(({ name }) => name === "helloworld")?.instances === 1);
  t.equal((await call(`${http}/v1/helloworld/Call`, { name: "Ada" }, admin)).status, 200, "the process's own answers");
});

interface Listed {
  readonly name: string;
  readonly instances: number;
}
