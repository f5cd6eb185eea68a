// A Postgres server that ends a connection as soon as it is ready, for example because it is killed
// just then, does not end the process.
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import t, { type Test } from "tap";
import { Database } from "../../src/store/postgres-connection.js";
import { readPostgresUrl } from "../../src/store/postgres-url.js";

/**
 * A message of the server (PostgreSQL, "Message Formats"): a letter, the length including itself,
 * and the content.
 */
function message(letter: string, ...parts: (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const head = Buffer.alloc(5, letter);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const AUTHENTICATED = message("R", [0, 0, 0, 0]);
const READY = message("Z", "I");
const ENDED = message("E", "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0");

const STATEMENT = { name: "one", text: "SELECT 1" };
const USES: Readonly<Record<string, (database: Database) => Promise<unknown>>> = {
  "a read": (database) => database.read(STATEMENT, []),
  "a write": (database) => database.write(STATEMENT, []),
  "a connection for what is more than a statement": (database) => database.open("read", async () => {}),
};

async function open(t: Test): Promise<Database> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([AUTHENTICATED, READY, ENDED])));
  });
  t.teardown(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const address = readPostgresUrl(`postgres://portico@127.0.0.1:${port}/portico`, "portico");
  const database = new Database({ address, timeoutMs: 2_000, setting: "PORTICO_STORE", check: async () => {} });
  t.teardown(() => database.close());
  return database;
}

for (const [what, use] of Object.entries(USES)) {
  t.test(`${what} fails, and nothing else does`, async (t) => {
    await t.rejects(use(await open(t)), { name: "StoreError" });
  });
}
