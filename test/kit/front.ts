/** A service on the kit in its own process. The name in the request selects what it does. */

import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { HelloworldService } from "../../src/gen/helloworld/helloworld.js";
import { type Call, invalidArgument, serve } from "../../src/kit/index.js";

const greeting = (message: string) => ({ message, msg: "" });

const BEHAVIOURS: Readonly<Record<string, (call: Call) => Promise<string> | string>> = {
  who: ({ caller, namespace }) => `${caller?.account} of ${namespace}`,
  scopes: ({ caller }) => `${caller?.scopes.join()}`,
  "ask scopes": async (call) => (await call.client(HelloworldService, "front").call({ name: "scopes" })).message,
  refuse: () => {
    throw invalidArgument("name: must be another");
  },
  fail: () => {
    throw new Error("/secret/place cannot be opened");
  },
  count: async (call) => `${await call.store("counts").increment("greetings")}`,
  // Calls this service itself, as another service would.
  "ask who": async (call) => (await call.client(HelloworldService, "front").call({ name: "who" })).message,
  where: ({ clientAddress }) => clientAddress,
  "ask where": async (call) => (await call.client(HelloworldService, "front").call({ name: "where" })).message,
  "ask helloworld": async (call) => (await call.client(HelloworldService, "helloworld").call({ name: "Ada" })).message,
  "ask nobody": async (call) => (await call.client(HelloworldService, "nobody").call({ name: "Ada" })).message,
  // Returns the x-tenant header of the caller, and sends the cost in x-cost.
  tenant: (call) => {
    call.sendHeaders([["x-cost", "3"]]);
    call.setTrailers([["x-key-bin", Buffer.from([1, 2])]]);
    return call.metadata.filter(([name]) => name.startsWith("x-tenant")).join();
  },
  wait: async ({ signal }) => {
    process.stdout.write("waiting\n");
    await new Promise((resolve) => {
      process.once("SIGTERM", resolve);
      signal.addEventListener("abort", resolve);
    });
    return "finished";
  },
};

const { address } = await serve(
  HelloworldService,
  {
    call: async ({ name }, call) => greeting((await BEHAVIOURS[name]?.(call)) ?? `Hello ${name}`),
    async *stream({ name, messages }, call) {
      if (name !== "relay") for (let sent = 0n; sent < messages; sent++) yield greeting(`${sent}`);
      else yield* call.client(HelloworldService, "front").stream({ name: "", messages });
    },
  },
  { name: "front", descriptors: descriptorsOf("helloworld"), metadata: ["x-tenant", "x-cost", "x-key-bin"] },
);
process.stdout.write(`served at ${address}\n`);
