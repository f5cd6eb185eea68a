// Calls that the gateway refuses because their service has more than it can serve. They are
// counted, and not logged one by one.
import { setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { OverloadError, toCallError } from "../../../gateway/http/errors.js";
import { Code } from "../../../src/errors.js";
import type { CallListener, Channel, OutgoingCall } from "../../../src/rpc/channel.js";
import { overloaded, status } from "../../../src/rpc/status.js";
import { replaceClock } from "../../support/clock.js";
import { until } from "../../support/until.js";
import { type Answer, ask, deploy } from "../deployment.js";

/** The calls of a service, which end when the test ends them. */
const waiting: CallListener[] = [];
const channel: Channel = {
  state: "ready",
  open(_start, listener): OutgoingCall {
    waiting.push(listener);
    return { send: () => true, end() {}, cancel() {}, pause() {}, resume() {} };
  },
  close() {},
};

function answerOne(): void {
  const listener = waiting.shift();
  listener?.onMessage(Buffer.alloc(0));
  listener?.onEnd(status(Code.OK, ""));
}

t.test("a call beyond what the service can serve is refused with 503, counted, and not logged", async (t) => {
  const { handler, metrics, logged, catalog, add, close } = await deploy(t.testdir(), { connect: () => channel });
  t.teardown(close);
  t.teardown(add({ service: "odd", addresses: ["127.0.0.1:9"] }));
  const target = "/odd/helloworld/call?name=Ada";
  await until(() => catalog.routes.serviceAt("GET", "/odd/helloworld/call") === "odd");
  let now = performance.now();
  replaceClock(t, performance, () => now);
  const refused: Answer[] = [];
  let calls = 0;
  let answered = 0;
  const call = (): void => {
    calls++;
    void ask(handler, { target }).then((response) => {
      if (response.status === 200) answered++;
      else refused.push(response);
    });
  };
  // Twice as many calls arrive as are served, one every 4 ms. The first calls are served at once,
  // and show the usual delay.
  for (let round = 0; round < 2_000 && refused.length === 0; round++) {
    now += 4;
    call();
    if (round > 20) call();
    await turn();
    answerOne();
  }
  for (now += 4; waiting.length > 0; await turn()) answerOne();
  t.match(refused[0], { status: 503, headers: { "retry-after": "1" } });
  t.equal(answered + refused.length, calls);
  t.same(new Set(logged.filter(({ endpoint }) => endpoint !== undefined).map(({ status }) => status)), new Set([200]));
  const counted = /^portico_requests_total\{.*endpoint="odd:Helloworld.Call",code="503"\} (\d+)$/m.exec(
    await metrics.text(),
  );
  t.equal(counted?.[1], `${refused.length}`);
});

t.test("the error of a refusal by the gateway has no stack, and differs from a refusal by the service", (t) => {
  const own = toCallError("odd", { ...overloaded("odd"), neverSent: true });
  t.ok(own instanceof OverloadError);
  t.notMatch(own.stack, /\n/);
  t.notOk(toCallError("odd", overloaded("odd")) instanceof OverloadError);
  t.end();
});
