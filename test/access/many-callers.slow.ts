// 200,000 callers of one guard take little memory and need no lookup, and a change does not search
// them.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { createToken, hashToken } from "../../src/call/token.js";
import { Code } from "../../src/errors.js";
import { call } from "./endpoints.js";
import { start } from "./scripted-authority.js";
import { ask, codeOf } from "./test-gateway.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const CALLERS = 200_000;
const MIB = 2 ** 20;
/** Maximum memory of the callers, in MiB. */
const MAX_GROWTH = 100;
/** Maximum duration of one change, in milliseconds: the median of many. */
const MAX_CHANGE = 1;

function memory(): { heap: number; resident: number } {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: (heapUsed + external) / MIB, resident: rss / MIB };
}

t.test("200,000 callers of one guard, each of an account of its own", async (t) => {
  const { script, guard } = await start(t, { rules: ["* granted *:*:*"], leaseMs: 60_000 });
  await guard.ready();
  const tokens = Array.from({ length: CALLERS }, () => createToken("access"));
  const accounts = new Map(tokens.map((token, index) => [hashToken(token).toString("latin1"), `account-${index}`]));
  script.resolve = ({ sha256 }) => {
    const account = accounts.get(sha256.toString("latin1")) ?? "nobody";
    script.asked.length = 0;
    return {
      revision: script.revision,
      caller: {
        ...{
          namespace: "default",
          namespaceId: "",
          account,
          scopes: ["staff", `team-${account.slice(-2)}`],
          resources: [],
          from: [],
        },
        ...{ expires: { seconds: 4_000_000_000n, nanos: 0 }, reportUse: false, enrolment: "" },
      },
    };
  };
  const askAll = async (): Promise<void> => {
    for (let from = 0; from < CALLERS; from += 5_000) {
      await Promise.all(tokens.slice(from, from + 5_000).map((token) => ask(guard, call, { token })));
    }
  };
  const before = memory();
  await askAll();
  const after = memory();
  const [heap, resident] = [after.heap - before.heap, after.resident - before.resident];
  t.comment(`${heap.toFixed(0)} MiB of heap, ${resident.toFixed(0)} MiB resident`);
  t.ok(heap < MAX_GROWTH, `${heap.toFixed(0)} MiB more`);

  const batches = script.batches.length;
  await askAll();
  t.equal(script.batches.length, batches, "each is known");

  const times: number[] = [];
  for (let index = 0; index < 200; index++) {
    const began = performance.now();
    script.change({ $case: "accountChanged", value: { namespace: "default", account: `account-${index}` } });
    const { revision } = script;
    await script.until(() => script.stream.applied.includes(revision));
    times.push(performance.now() - began);
  }
  const middle = times.sort((a, b) => a - b)[100] as number;
  t.comment(`a change takes ${middle.toFixed(3)} ms until it is acknowledged`);
  t.ok(middle < MAX_CHANGE, `${middle.toFixed(3)} ms for a change`);

  script.resolve = (request) => script.response(request);
  const codes = await Promise.all(tokens.slice(0, 400).map((token) => codeOf(guard, call, { token })));
  t.same(new Set(codes.slice(0, 200)), new Set([Code.UNAUTHENTICATED]), "those that changed are asked for, and gone");
  t.same(new Set(codes.slice(200)), new Set([Code.OK]), "the others are still known");
});
