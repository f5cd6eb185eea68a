/**
 * `npm run cluster`: starts three authorities, three gateways, two instances each of two services,
 * and Postgres on this machine. Each has its own network namespace if the rights suffice. Prints
 * how to use them, and runs until it is stopped.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ADMIN_PASSWORD } from "../support/installation.js";
import { noPostgres } from "../support/postgres.js";
import { type Node, startCluster } from "./cluster.js";

const closers: (() => unknown)[] = [];

if (noPostgres) {
  console.error(`The cluster needs Postgres: ${noPostgres}. On Debian: apt-get install postgresql`);
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), "portico-cluster-"));
closers.push(() => rmSync(folder, { recursive: true, force: true }));
const stopped = Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
try {
  console.log("Starting Postgres, three authorities, three gateways, and two instances each of two services …");
  const cluster = await startCluster({ teardown: (close) => void closers.push(close) }, folder);
  const { network, authorities, gateways, services, database, databaseMachine } = cluster;
  const first = gateways[0]!.http;
  const row = (name: string, address: string, { before }: Node["machine"]): string =>
    `  ${name.padEnd(13)} ${address.padEnd(24)} ${before.join(" ")}`;
  const lines = [
    row("postgres", `${databaseMachine.host}:${database.port}`, databaseMachine),
    ...authorities.map((node) => row(node.machine.name, node.grpc, node.machine)),
    ...gateways.map((node) => row(node.machine.name, node.http, node.machine)),
    ...services.map((node) => row(node.machine.name, node.grpc, node.machine)),
  ];
  const cut =
    network.whyNotCut === undefined
      ? `Cut one off:      ${authorities[0]!.machine.before.join(" ")} ip link set eth0 down`
      : `Links cannot be cut here: ${network.whyNotCut}`;
  console.log(`\n${lines.join("\n")}\n
  Call:             curl '${first}/helloworld/call?name=Ada'
  Log in:           echo ${ADMIN_PASSWORD} | node dist/portico.js login --url ${first} --password-stdin
  ${cut}
  Kill one:         pkill --full 'portico.js authority' --oldest --signal KILL
  Stop all:         Ctrl-C\n`);
  const demo = spawn("curl", ["--silent", "--max-time", "5", `${first}/helloworld/call?name=Ada`], {
    stdio: "inherit",
  });
  await once(demo, "close").catch(() => undefined);
  console.log();
  await stopped;
} finally {
  for (const close of closers.reverse()) await close();
}
