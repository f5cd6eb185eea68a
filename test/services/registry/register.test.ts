/** Registration over every kind of channel. */
import { pino } from "pino";
import t, { type Test } from "tap";
import { Directory } from "../../../services/registry/directory.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { Code } from "../../../src/errors.js";
import { EnrolmentsService } from "../../../src/gen/portico/auth/v1/enrolments.js";
import { type Instance, RegistryService } from "../../../src/gen/portico/registry/v1/registry.js";
import { ServiceOptions } from "../../../src/gen/portico/registry/v1/service_options.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { stream, unary } from "../../../src/rpc/client.js";
import { ownersInMemory } from "../../support/name-owners.js";
import { greeter } from "./instances.js";
import { openMesh } from "./mesh.js";

const mesh = await openMesh(t);

const START = "+auth/local +registry/local +helloworld/local complete";

async function watch(t: Test) {
  const next = mesh.watch(t);
  t.equal(await next(), START);
  return next;
}

/**
 * Registers an instance. Resolves when it is registered, with the call, and with a function that
 * waits for its end.
 */
async function hold(channel: Channel, metadata: Metadata, instance: Instance) {
  const call = stream(channel, RegistryService.register, { metadata });
  call.send({ instance });
  const responses = call.responses[Symbol.asyncIterator]();
  await responses.next();
  return { ...call, ended: () => responses.next() };
}

for (const kind of ["inProcess", "grpc"] as const) {
  const open = async (t: Test) => {
    const enrolment = await mesh.enrol("greeter");
    return { enrolment, channel: kind === "grpc" ? mesh.connect() : mesh.inProcess, next: await watch(t) };
  };

  t.test(`${kind}: an instance is registered for as long as its stream is open`, async (t) => {
    const { channel, enrolment, next } = await open(t);
    const one = await hold(channel, enrolment, greeter({ id: "one" }));
    t.equal(await next(), "+greeter/one complete");
    const two = await hold(channel, enrolment, greeter({ id: "two" }));
    t.equal(await next(), "+greeter/two complete");
    one.cancel();
    t.equal(await next(), "-greeter/one complete");
    two.end();
    t.equal(await next(), "-greeter/two complete");
    t.equal((await two.ended()).done, true, "who ends its stream is told that all is well");
  });

  t.test(`${kind}: another registration with the same ID and token replaces it`, async (t) => {
    const { channel, enrolment, next } = await open(t);
    const before = await hold(channel, enrolment, greeter());
    t.equal(await next(), "+greeter/one complete");
    const after = await hold(channel, enrolment, greeter({ addresses: ["127.0.0.1:9001"] }));
    await t.rejects(before.ended(), {
      code: Code.ABORTED,
      message: "another instance of greeter registered with the id one",
    });
    t.equal(await next(), "+greeter/one complete", "and the end of the first takes nothing out");
    after.cancel();
    t.equal(await next(), "-greeter/one complete");
  });

  t.test(`${kind}: an ID that was registered with another token cannot be used`, async (t) => {
    const { channel, enrolment, next } = await open(t);
    const held = await hold(channel, enrolment, greeter());
    t.equal(await next(), "+greeter/one complete");
    const message = "another instance of greeter has the id one; choose another";
    await t.rejects(hold(channel, await mesh.enrol("greeter"), greeter()), { code: Code.ALREADY_EXISTS, message });
    held.cancel();
    t.equal(await next(), "-greeter/one complete", "it was there until it left");
  });

  t.test(`${kind}: an ID of the authority's own process cannot be used`, async (t) => {
    const { channel, next } = await open(t);
    const enrolment = await mesh.enrol("helloworld");
    const taken = { code: Code.ALREADY_EXISTS };
    await t.rejects(hold(channel, enrolment, greeter({ service: "helloworld", id: "local" })), taken);
    const other = await hold(channel, enrolment, greeter({ service: "helloworld", id: "other" }));
    t.equal(await next(), "+helloworld/other complete", "nothing has happened to the process's own");
    other.cancel();
    t.equal(await next(), "-helloworld/other complete");
  });

  t.test(`${kind}: deleting the enrolment ends the registration`, async (t) => {
    const { channel, enrolment, next } = await open(t);
    const held = await hold(channel, enrolment, greeter());
    t.equal(await next(), "+greeter/one complete");
    await unary(mesh.inProcess, EnrolmentsService.delete, { name: "greeter", id: "" }, { metadata: mesh.admin });
    await t.rejects(held.ended(), { code: Code.UNAUTHENTICATED });
    t.equal(await next(), "-greeter/one complete");
  });

  t.test(`${kind}: a stream registers only one instance`, async (t) => {
    const { channel, enrolment, next } = await open(t);
    const held = await hold(channel, enrolment, greeter());
    t.equal(await next(), "+greeter/one complete");
    held.send({ instance: greeter({ id: "two" }) });
    await t.rejects(held.ended(), { code: Code.INVALID_ARGUMENT, message: /open another stream/ });
    t.equal(await next(), "-greeter/one complete");
  });

  t.test(`${kind}: a caller that may not register gets the reason, and nothing is registered`, async (t) => {
    const { channel, enrolment, next } = await open(t);
    const cases: readonly (readonly [string, Metadata, Instance | undefined, Code, RegExp])[] = [
      [
        "an unauthenticated caller",
        [],
        greeter(),
        Code.UNAUTHENTICATED,
        /^Unauthorized call made to registry:Registry\.Register$/,
      ],
      ["an administrator", mesh.admin, greeter(), Code.PERMISSION_DENIED, /^Forbidden call .* by admin$/],
      [
        "another service",
        enrolment,
        greeter({ service: "other" }),
        Code.PERMISSION_DENIED,
        /"other" takes the enrolment token of that name; this one is for "greeter"/,
      ],
      ["a gateway", mesh.gateway, greeter(), Code.PERMISSION_DENIED, /this one is for "gateway"/],
      [
        "the authority's name",
        await mesh.enrol("auth"),
        greeter({ service: "auth" }),
        Code.INVALID_ARGUMENT,
        /reserved/,
      ],
      ["no instance", enrolment, undefined, Code.INVALID_ARGUMENT, /first message must have an instance/],
      [
        "a program of the gateways' machines",
        enrolment,
        greeter({ addresses: ["127.0.0.1:9000", "unix:/run/containerd.sock"] }),
        Code.INVALID_ARGUMENT,
        /cannot register a unix socket .*: only an administrator may name one/,
      ],
      [
        "metadata that never passes",
        enrolment,
        greeter({ metadata: ["x-tenant", "set-cookie"] }),
        Code.INVALID_ARGUMENT,
        /metadata must be a list of at most 64 names in lower case/,
      ],
      [
        "metadata without end",
        enrolment,
        greeter({ metadata: Array.from({ length: 65 }, (_, index) => `x-${index}`) }),
        Code.INVALID_ARGUMENT,
        /metadata must be a list of at most 64 names in lower case/,
      ],
      [
        "broken descriptors",
        enrolment,
        greeter({ descriptors: Buffer.from("?") }),
        Code.INVALID_ARGUMENT,
        /descriptors/,
      ],
    ];
    for (const [name, metadata, instance, code, message] of cases) {
      const call = stream(channel, RegistryService.register, { metadata });
      call.send({ instance });
      await t.rejects(call.responses[Symbol.asyncIterator]().next(), { code, message }, name);
    }
    const held = await hold(channel, enrolment, greeter());
    t.equal(await next(), "+greeter/one complete");
    held.end();
    t.equal(await next(), "-greeter/one complete");
  });
}

t.test("an enrolled instance has no options, so gateways show it no credential", async (t) => {
  const closing = new AbortController();
  const watched = stream(mesh.inProcess, RegistryService.watch, { metadata: mesh.gateway, signal: closing.signal });
  watched.send({ confirmed: 0n });
  watched.end();
  const responses = watched.responses[Symbol.asyncIterator]();
  await responses.next();
  const options = ServiceOptions.fromPartial({ credential: { name: "token" }, tls: { ca: "ca.pem" }, identity: true });
  const held = await hold(mesh.connect(), await mesh.enrol("greeter"), greeter({ options, weight: 5 }));
  const { value } = await responses.next();
  const joined = value.joined.map(({ service, options, weight }: Instance) => ({ service, options, weight }));
  t.same(joined, [{ service: "greeter", options: undefined, weight: 0 }]);
  held.cancel();
  t.match((await responses.next()).value, { left: [{ service: "greeter" }] });
  closing.abort();
});

t.test("an instance whose connection breaks is deregistered", async (t) => {
  const next = await watch(t);
  const channel = mesh.connect();
  await hold(channel, await mesh.enrol("greeter"), greeter());
  t.equal(await next(), "+greeter/one complete");
  channel.close();
  t.equal(await next(), "-greeter/one complete");
});

t.test("a registry that closes ends the registrations", async (t) => {
  const held = await hold(mesh.connect(), await mesh.enrol("greeter"), greeter());
  mesh.registry.close();
  await t.rejects(held.ended(), { code: Code.UNAVAILABLE });
});

t.test(
  "an instance that joins is logged; one of the authority's own process is not, because the banner names it",
  async (t) => {
    const lines: { msg: string; service: string; id: string }[] = [];
    const log = pino({ level: "info" }, { write: (line) => lines.push(JSON.parse(line)) });
    const directory = new Directory({ owners: ownersInMemory(), log });
    directory.join(greeter({ id: "own" }), { local: true });
    t.same(lines, []);
    directory.join(greeter({ id: "other" }), { local: false });
    directory.join(greeter({ id: "other" }), { local: false });
    t.match(lines, [
      { msg: "instance joined", service: "greeter", id: "other" },
      { msg: "instance replaced", service: "greeter", id: "other" },
    ]);
    t.equal(lines.length, 2);
  },
);
