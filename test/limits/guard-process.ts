/**
 * A process with a guard that follows authorities over gRPC, and counts calls at a steady pace,
 * from the client addresses in turn. For each call it prints when it was counted or refused, in
 * milliseconds since 1970, the address, and the outcome.
 *
 *     node --import=tsx guard-process.ts '{"authority":["127.0.0.1:1"],"token":"pte_…",…}'
 */
import pino from "pino";
import { Authorities } from "../../src/access/follow/authorities.js";
import { OpenGuard } from "../../src/access/guard.js";
import { Http2Channel } from "../../src/rpc/http2/channel.js";
import type { CallOutcome } from "./bound.js";
import { callOnce, isRefused } from "./guards.js";

const {
  authority,
  token,
  perSecond,
  addresses = ["192.0.2.1"],
} = JSON.parse(process.argv[2] ?? "{}") as {
  readonly authority: readonly string[];
  readonly token: string;
  readonly perSecond: number;
  readonly addresses?: readonly string[];
};
const log = pino({ level: "silent" });
const links = authority.map((name) => {
  const [host = "", port] = name.split(":");
  const channel = new Http2Channel({ host, port: Number(port) }, { maxBody: 4 * 2 ** 20, maxReconnectMs: 200 });
  return { name, channel, log };
});
const authorities = new Authorities(links);
const metadata = [["authorization", `Bearer ${token}`]] as const;
const guard = new OpenGuard({ channel: authorities.channel, authorities, metadata, log });
await guard.ready();
process.stdout.write("ready\n");

/** By the monotonic clock, from a start that all processes of the machine share. */
const moment = (): string => (performance.timeOrigin + performance.now()).toFixed(3);

const start = performance.now();
let sent = 0;
setInterval(() => {
  const due = ((performance.now() - start) / 1_000) * perSecond;
  // After a stop of the process, the calls that were missed are not made up for.
  if (due - sent > perSecond) sent = Math.floor(due);
  for (; sent < due; sent++) {
    const address = addresses[sent % addresses.length]!;
    const print = (outcome: CallOutcome): void => void process.stdout.write(`${moment()} ${address} ${outcome}\n`);
    callOnce(guard, { address }).then(
      (outcome) => print(isRefused(outcome) ? "refused" : "counted"),
      () => print("unavailable"),
    );
  }
}, 2);
