// A body is whole whenever it is asked for: at once, or after some of it or all has come.

import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";
import { deferred } from "../../support/deferred.js";

const CASES: [title: string, before: string, after: string, body: string][] = [
  ["nothing of it", "", "7\r\none two\r\n0\r\n\r\n", "one two"],
  ["some of it", "3\r\none\r\n", "4\r\n two\r\n0\r\n\r\n", "one two"],
  ["all of it but its end", "7\r\none two\r\n", "0\r\n\r\n", "one two"],
  ["all of it", "7\r\none two\r\n0\r\n\r\n", "", "one two"],
  ["all of it, which is nothing,", "0\r\n\r\n", "", ""],
];

for (const [title, before, after, body] of CASES) {
  for (const waits of [false, true]) {
    t.test(`${title} comes with the headers, and it is asked for ${waits ? "later" : "at once"}`, async (t) => {
      const { promise: asked, resolve: ask } = deferred();
      const gateway = await listen(
        async (request) => {
          if (waits) await asked;
          const echo = `<${Buffer.concat(await request.body())}>`;
          return { status: 200, headers: ["Content-Length", String(echo.length)], body: echo, length: echo.length };
        },
        { host: "127.0.0.1", port: 0 },
        loadConfig({}, {}),
      );
      t.teardown(() => gateway.close(0));
      const socket = connect(gateway.address.port, "127.0.0.1").setEncoding("latin1");
      t.teardown(() => socket.destroy());
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      for (let call = 1; call <= 2; call++) {
        socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${before}`);
        // By then the server has read it, as the next turns of the event loop are its own.
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
        ask();
        if (after !== "") socket.write(after);
        while (!text.endsWith(`\r\n\r\n<${body}>`)) await once(socket, "data");
        t.match(text, /^HTTP\/1\.1 200 OK\r\n/, `request ${call} of the connection`);
        text = "";
      }
    });
  }
}
