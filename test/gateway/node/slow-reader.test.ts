// A client that takes one long write piece by piece is kept; one that takes nothing more is cut.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock } from "node:test";
import t from "tap";
import { SlowReaderTimeout } from "../../../gateway/node/slow-reader.js";

const STALL_MS = 1000;
/** What the system holds for a unix socket on either side is some 200 KiB, so each piece makes it take more. */
const PIECE = 4 << 20;
const PIECES = 16;

const folder = mkdtempSync(join(tmpdir(), "portico-stall-"));
t.teardown(() => rmSync(folder, { recursive: true }));

/** A connection over a unix socket: the server's side, and the client's, which reads only when told to. */
async function connection(): Promise<{ server: Socket; client: Socket; close(): void }> {
  const listener = createServer().listen(join(folder, "socket"));
  await once(listener, "listening");
  const client = connect(join(folder, "socket")).pause();
  const [server] = (await once(listener, "connection")) as [Socket];
  return { server, client, close: () => listener.close() };
}

async function read(socket: Socket, bytes: number): Promise<void> {
  let left = bytes;
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    left -= chunk.length;
    if (left <= 0) return;
  }
}

t.test("a long answer that is read slowly is cut only when nothing more is read", async (t) => {
  const { server, client, close } = await connection();
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const timeout = new SlowReaderTimeout(server, STALL_MS);
  server.write(Buffer.alloc(PIECE * (PIECES + 1)));
  timeout.start();

  for (let chunk = 0; chunk < PIECES; chunk++) {
    await read(client, PIECE);
    mock.timers.tick(STALL_MS);
    t.notOk(server.destroyed, `kept after piece ${chunk}`);
  }
  mock.timers.tick(2 * STALL_MS);
  t.ok(server.destroyed, "cut when nothing more is taken");
  timeout.stop();
  client.destroy();
  close();
});
