// Browsers let every page open a WebSocket. The gateway decides which pages may, by the setting for
// CORS.
import t from "tap";
import { dial, refused, scene } from "./client.js";

const settings: [cors: string, origin: string | undefined, allowed: boolean][] = [
  ["*", "https://anyone.example", true],
  ["https://friend.example", "https://friend.example", true],
  ["https://friend.example", "https://anyone.example", false],
  ["https://friend.example", "null", false],
  ["https://friend.example", undefined, true],
  ["none", "https://friend.example", false],
  ["none", "the gateway's own", true],
];

for (const cors of new Set(settings.map(([setting]) => setting))) {
  t.test(`PORTICO_CORS=${cors}`, async (t) => {
    const it = await scene(t, { flags: { cors } });
    for (const [, origin, allowed] of settings.filter(([setting]) => setting === cors)) {
      const own = `http://127.0.0.1:${it.port}`;
      const headers = origin === undefined ? {} : { origin: origin.startsWith("the") ? own : origin };
      if (allowed) {
        const { socket } = await dial(it, "/feed/chat", [], headers);
        t.pass(`from ${origin}`);
        socket.terminate();
      } else {
        const { status, error } = await refused(it, "/feed/chat", headers);
        t.equal(status, 403, `not from ${origin}`);
        t.match(error, { Id: "gateway", Code: 403, Detail: /may not call here; PORTICO_CORS/ });
      }
    }
  });
}
