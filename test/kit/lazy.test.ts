/**
 * The code of a service is loaded at the first granted call. It is loaded once, and again only
 * after a failure.
 */
import pino from "pino";
import t from "tap";
import { parts } from "../../services/helloworld/helloworld.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { Code } from "../../src/errors.js";
import { HelloworldService } from "../../src/gen/helloworld/helloworld.js";
import type { Part } from "../../src/kit/index.js";
import { createLazyService } from "../../src/kit/service.js";
import { sharedStore } from "../../src/kit/shared-store.js";
import { stream, unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { dispatcherOf } from "../rpc/serve.js";
import { TableGuard } from "../rpc/table-guard.js";
import { again } from "../services/auth/again.js";

function lazy(load: () => Promise<readonly Part[]>, guard = new TableGuard()) {
  const unused = () => {
    throw new Error("helloworld keeps nothing, and calls no other service");
  };
  const environment = {
    service: "helloworld",
    log: pino({ level: "silent" }),
    store: sharedStore(unused),
    clients: unused,
  };
  const service = createLazyService(load, { descriptors: descriptorsOf("helloworld"), environment });
  return new InProcessChannel(dispatcherOf([service], { guard }));
}

t.test("concurrent first calls load the code once", async (t) => {
  let loaded = 0;
  const channel = lazy(async () => {
    loaded++;
    return parts;
  });
  t.equal(loaded, 0, "not before a call");
  // A busy process refuses calls that have waited for the code for long.
  const greet = (name: string) => again(() => unary(channel, HelloworldService.call, { name }));
  const responses = await Promise.all(["Ada", "Bob", "Eve"].map(greet));
  t.same(
    responses.map(({ message }) => message),
    ["Hello Ada", "Hello Bob", "Hello Eve"],
  );
  t.equal((await greet("Ada")).message, "Hello Ada");
  const call = stream(channel, HelloworldService.stream);
  call.send({ name: "Ada", messages: 2n });
  call.end();
  const streamed: string[] = [];
  for await (const { message } of call.responses) streamed.push(message);
  t.same(streamed, ["Hello Ada", "Hello Ada"]);
  t.equal(loaded, 1);
});

t.test("a refused call does not load the code", async (t) => {
  let loaded = 0;
  const guard = new TableGuard();
  guard.close("helloworld:Helloworld.Call");
  const channel = lazy(async () => {
    loaded++;
    return parts;
  }, guard);
  await t.rejects(unary(channel, HelloworldService.call, { name: "Ada" }), { code: Code.UNAUTHENTICATED });
  t.equal(loaded, 0);
});

t.test("a call is refused if its rule is deleted while the code is loaded", async (t) => {
  const guard = new TableGuard();
  const channel = lazy(async () => {
    guard.close("helloworld:Helloworld.Call");
    return parts;
  }, guard);
  await t.rejects(unary(channel, HelloworldService.call, { name: "Ada" }), { code: Code.UNAUTHENTICATED });
});

t.test("code that cannot be loaded is an internal error, and the next call tries again", async (t) => {
  let fails = true;
  const channel = lazy(async () => {
    if (fails) throw new Error("/secret/place is not there");
    return parts;
  });
  const greet = () => unary(channel, HelloworldService.call, { name: "Ada" });
  await t.rejects(greet(), { code: Code.INTERNAL, message: "Internal error" });
  fails = false;
  t.equal((await greet()).message, "Hello Ada");
});
