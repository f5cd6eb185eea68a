// A service that runs in the authority's process calls other services for its caller. It is
// authorized like a service of any other process.
import t from "tap";
import { clientsWithin } from "../../../cli/roles/built-in-clients.js";
import { openServices } from "../../../cli/roles/open-services.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { loadConfig } from "../../../src/config/config.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import type { Endpoint } from "../../../src/contract/endpoint.js";
import { Code } from "../../../src/errors.js";
import { HelloworldService } from "../../../src/gen/helloworld/helloworld.js";
import { AuthService } from "../../../src/gen/portico/auth/v1/auth.js";
import { Access, RulesService } from "../../../src/gen/portico/auth/v1/rules.js";
import { UrlService } from "../../../src/gen/url/url.js";
import { type Call, type Implementation, part } from "../../../src/kit/index.js";
import { createService } from "../../../src/kit/service.js";
import { sharedStore } from "../../../src/kit/shared-store.js";
import { createLog } from "../../../src/log.js";
import { Process } from "../../../src/process/process.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { unary } from "../../../src/rpc/client.js";
import { InProcessChannel } from "../../../src/rpc/in-process/channel.js";
import { openCore } from "./core.js";

const PASSWORD = "correct horse battery";
const log = createLog("silent");
const config = loadConfig({ data: t.testdir(), grpc: "127.0.0.1:0", adminPassword: PASSWORD }, {});
const server = new Process(config, log);
t.teardown(() => server.stop({ noticeMs: 0, drainMs: 0 }));
const { closeWithProcess } = server;

const nothingKept = sharedStore(() => Promise.reject(new Error("it keeps nothing")));
const client = (call: Call, service: string) => call.client(HelloworldService, service);
const asking = createService(
  [
    part(UrlService, {
      ...({} as Implementation<typeof UrlService>),
      async resolve({ name }, call) {
        return { address: (await client(call, name).call({ name: "Ada" })).message };
      },
      async shorten({ address: name }, call) {
        let messages = "";
        for await (const { message } of client(call, name).stream({ name: "Ada", messages: 2n })) messages += message;
        return { name: "", address: messages, created: undefined, updated: undefined };
      },
    }),
  ],
  {
    descriptors: descriptorsOf("url"),
    environment: {
      service: "url",
      log,
      store: nothingKept,
      clients: () => clients,
    },
  },
);
const none = (): never => {
  throw new Error("helloworld calls no other service");
};
const { guard, transport, dispatcher } = await openCore(server, () => [
  asking,
  ...openServices(["helloworld"], { store: nothingKept, clientsOf: none, log }),
]);
const channel = closeWithProcess(new InProcessChannel(dispatcher));
const clients = closeWithProcess(clientsWithin("url", dispatcher, channel, transport.connect));
const login = { account: "admin", password: PASSWORD, namespace: "" };
const { accessToken: token } = await unary(channel, AuthService.login, login);
const bearer: Metadata = [["authorization", `Bearer ${token}`]];

/**
 * A channel whose calls are like those from the gateway in this process, for the administrator or
 * for an unauthenticated caller.
 */
async function channelTo(name: string, as: string | undefined): Promise<Channel> {
  const endpoint = dispatcher.endpoints.find((one) => one.name === name) as Endpoint;
  const admission = await guard.admit({ token: as, namespace: undefined, tokenRequired: false }, endpoint);
  const callerAssertion = guard.assertionOf(admission);
  return {
    state: "ready",
    open: (start, listener) => channel.open({ ...start, admission, callerAssertion }, listener),
    close() {},
  };
}

/** The response of another service to the asking one. */
async function ask(service: string, as?: string): Promise<string> {
  return (await unary(await channelTo("url:Url.Resolve", as), UrlService.resolve, { name: service })).address;
}

t.test("it calls a service of this process for its caller", async (t) => {
  t.equal(await ask("helloworld", token), "Hello Ada");
  t.equal(await ask("helloworld"), "Hello Ada", "and for nobody, where the rules let everyone in");
  const shorten = await channelTo("url:Url.Shorten", token);
  const streamed = await unary(shorten, UrlService.shorten, { address: "helloworld" });
  t.equal(streamed.address, "Hello AdaHello Ada");
});

t.test("a service that does not exist is UNAVAILABLE", async (t) => {
  await t.rejects(ask("nobody", token), { code: Code.UNAVAILABLE, message: /there is no instance of nobody to call/ });
});

t.test("the rules must grant the call to both the service and its caller", async (t) => {
  const grant = (id: string, scope: string, resource: string) =>
    unary(
      channel,
      RulesService.create,
      { rule: { id, scope, access: Access.GRANTED, resource, priority: 0, disabled: false } },
      { metadata: bearer },
    );
  const remove = (id: string) => unary(channel, RulesService.delete, { id }, { metadata: bearer });
  await grant("asking", "<public>", "service:url:*");
  await remove("default");
  await t.rejects(ask("helloworld", token), {
    code: Code.UNAUTHENTICATED,
    message: /Unauthorized call made to helloworld:Helloworld.Call/,
  });
  await grant("service", "service:url", "service:helloworld:*");
  await t.rejects(ask("helloworld"), { code: Code.UNAUTHENTICATED }, "the service alone may");
  await grant("caller", "admin", "service:helloworld:*");
  t.equal(await ask("helloworld", token), "Hello Ada");
  await remove("service");
  await t.rejects(
    ask("helloworld", token),
    { code: Code.UNAUTHENTICATED },
    "a context that was issued before is good no longer",
  );
});
