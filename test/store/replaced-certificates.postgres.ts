/** The files of TLS that a URL names may be replaced: each new connection reads them again. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { collectionOf } from "../../src/store/collection.js";
import { createAuthority } from "../http2/certificates.js";
import { noPostgres, PASSWORD, startPostgres } from "../support/postgres.js";
import { answerOf, errorOf, openOn } from "./open-postgres.js";

const END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico'";

t.test("a new connection trusts the authority that the file has now", { skip: noPostgres }, async (t) => {
  const [own, other] = [createAuthority("own"), createAuthority("other")];
  const server = await startPostgres(t, { certificate: own.issue("localhost") });
  const file = join(t.testdir(), "ca.pem");
  writeFileSync(file, own.cert);
  const url = `postgres://portico:${PASSWORD}@localhost:${server.port}/portico?sslmode=verify-full&sslrootcert=${file}`;
  const log = collectionOf(await openOn(t, server, { url }), "log");
  await log.create("1", "x");

  writeFileSync(file, other.cert);
  await server.query(END_ALL);
  t.match((await errorOf(log.get("1")))?.message, /certificate/);

  writeFileSync(file, own.cert);
  t.equal(await answerOf(() => log.get("1")), "x");

  rmSync(file);
  await server.query(END_ALL);
  t.equal(await answerOf(() => log.get("1")), "x", "what was read before is used while the file is away");
});
