// How a connection ends: the client disconnects, the port closes, there are too many.
import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import type { HttpError } from "../../../gateway/http/errors.js";
import type { GatewayRequest, GatewayResponse } from "../../../gateway/http/message.js";
import { deferred } from "../../support/deferred.js";
import { inTime } from "../../support/until.js";
import { dial, echo, get, held, open, post, response } from "./dial.js";

t.test("a client that disconnects", async (t) => {
  t.test("is reported while the handler works on its response", async (t) => {
    const { promise: request, resolve: asked } = deferred<GatewayRequest>();
    const gateway = await open(t, (it) => {
      asked(it);
      return new Promise<GatewayResponse>(() => {});
    });
    const client = await dial(gateway);
    client.socket.write(get("/1"));
    const gone = new Promise<void>((resolve) => void request.then((it) => it.onAbort(() => resolve())));
    await request;
    client.socket.destroy();
    await gone;
    t.pass("gone");
    await new Promise<void>((resolve) => void request.then((it) => it.onAbort(() => resolve())));
    t.pass("also to whoever asks later");
  });

  t.test("ends the reading of its body", async (t) => {
    const { promise: why, resolve: ended } = deferred<HttpError>();
    const gateway = await open(t, async (request) => {
      await Promise.resolve(request.body()).catch(ended);
      return response("nobody reads this");
    });
    const client = await dial(gateway);
    client.socket.write(`${post(5)}12`, () => client.socket.destroy());
    t.equal((await why).status, 499);
  });

  t.test("is not reported after its response", async (t) => {
    let reported = false;
    const gateway = await open(t, (request) => {
      request.onAbort(() => {
        reported = true;
      });
      return response("done");
    });
    const client = await dial(gateway);
    client.socket.write(get("/1"));
    await client.until(/done/);
    client.socket.destroy();
    await gateway.close(1000);
    t.notOk(reported);
  });
});

t.test("closing the port", async (t) => {
  t.test("lets requests in flight finish, and closes their connection", async (t) => {
    const { handler, finish, asked } = held();
    const gateway = await open(t, handler);
    const client = await dial(gateway);
    client.socket.write(get("/1"));
    await asked;
    const closed = gateway.close(10_000);
    const late = connect(gateway.address.port, "127.0.0.1");
    await t.rejects(once(late, "connect"), { code: "ECONNREFUSED" }, "and accepts no more");
    finish();
    await closed;
    t.match(await client.rest(), /Connection: close.*finished$/s);
  });

  t.test("lets the client read a response that is still on its way", async (t) => {
    const length = 32 * 1024 ** 2;
    const gateway = await open(t, async () => response("x".repeat(length)));
    const client = await dial(gateway);
    client.socket.write(get("/1"));
    await client.until(/x$/);
    client.socket.pause();
    const closed = gateway.close(600_000);
    await new Promise(setImmediate);
    client.socket.resume();
    const text = await client.rest();
    t.equal(text.length - text.indexOf("\r\n\r\n") - 4, length);
    await closed;
  });

  t.test("closes the connection of a request that does not finish in time", async (t) => {
    const { handler, asked } = held();
    const gateway = await open(t, handler);
    const client = await dial(gateway);
    client.socket.write(get("/1"));
    await asked;
    await gateway.close(20);
    t.equal(await client.rest(), "");
  });

  t.test("does not wait for connections that are idle or have never sent anything", async (t) => {
    const gateway = await open(t, echo);
    const idle = await dial(gateway);
    idle.socket.write(get("/1"));
    await idle.until(/\/1 0/);
    const silent = await dial(gateway);
    await inTime(gateway.close(600_000), "the port's end");
    await Promise.all([idle.rest(), silent.rest()]);
  });
});

t.test("connections beyond the limit are closed", async (t) => {
  const gateway = await open(t, echo, { maxConnections: 1 });
  const first = await dial(gateway);
  first.socket.write(get("/1"));
  await first.until(/\/1 0/);
  const second = await dial(gateway);
  second.socket.write(get("/2"));
  t.equal(await second.rest(), "");
});
