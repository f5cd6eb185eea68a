// A body is complete whenever the handler asks for it: at once, or after a part or all of it has
// come.

import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { listen } from "../../../gateway/node/listen.js";
import { loadConfig } from "../../../src/config/config.js";
import { deferred } from "../../support/deferred.js";

const CASES: [title: string, before: string, after: string, body: string][] = [
  ["nothing", "", "7\r\none two\r\n0\r\n\r\n", "one two"],
  ["a part of the body", "3\r\none\r\n", "4\r\n two\r\n0\r\n\r\n", "one two"],
  ["the whole body without its end", "7\r\none two\r\n", "0\r\n\r\n", "one two"],
  ["the whole body", "7\r\none two\r\n0\r\n\r\n", "", "one two"],
  ["an empty body", "0\r\n\r\n", "", ""],
];

for (const [title, before, after, body] of CASES) {
  for (const waits of [false, true]) {
    t.test(`${title} comes with the headers, and the handler reads it ${waits ? "later" : "at once"}`, async (t) => {
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
        // Afterwards the server, which runs in this process, has read it.
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
