// The connection of a client that reads one long write chunk by chunk stays open. When the client
// reads nothing more, it is closed.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock } from "node:test";
import t from "tap";
import { SlowReaderTimeout } from "../../../gateway/node/slow-reader.js";

const STALL_MS = 1000;
/**
 * The system buffers about 200 KiB for a unix socket on either side, so it must accept more of each
 * chunk.
 */
const CHUNK = 4 << 20;
const CHUNKS = 16;

const folder = mkdtempSync(join(tmpdir(), "portico-stall-"));
t.teardown(() => rmSync(folder, { recursive: true }));

/**
 * A connection over a unix socket: the server's side and the client's side. The client's side reads
 * only when the test calls `read`.
 */
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

t.test("a connection with a long response is closed only when nothing more is read", async (t) => {
  const { server, client, close } = await connection();
  mock.timers.enable({ apis: ["setInterval"] });
  t.teardown(() => mock.timers.reset());
  const timeout = new SlowReaderTimeout(server, STALL_MS);
  server.write(Buffer.alloc(CHUNK * (CHUNKS + 1)));
  timeout.start();

  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    await read(client, CHUNK);
    mock.timers.tick(STALL_MS);
    t.notOk(server.destroyed, `open after chunk ${chunk}`);
  }
  mock.timers.tick(2 * STALL_MS);
  t.ok(server.destroyed, "closed when nothing more is read");
  timeout.stop();
  client.destroy();
  close();
});
