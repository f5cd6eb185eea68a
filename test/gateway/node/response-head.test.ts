// A header whose value would end its line is left out of the response, whatever was sent in its
// place before.

import t from "tap";
import { dial, get, open } from "./dial.js";

const BAD = "bad\r\nInjected: yes";

t.test("headers that cannot be sent are left out", async (t) => {
  const pairs = [
    ["One", "good"],
    ["One", BAD],
    ["One", BAD],
    [BAD, "good"],
    ["One", "\u0100"],
    ["One", "good"],
    ["Two", "good"],
  ] as const;
  const gateway = await open(t, ({ target }) => {
    const [name, value] = pairs[Number(target.slice(1))] ?? ["", ""];
    return { status: 200, headers: ["Before", "x", name, value, "After", "y"], body: ".", length: 1 };
  });
  const sent: string[] = [];
  for (let at = 0; at < pairs.length; at++) {
    const client = await dial(gateway);
    client.socket.write(get(`/${at}`));
    const [head = ""] = (await client.until(/\r\n\r\n\.$/)).split("\r\nContent-Length");
    sent.push(head.split("\r\n").slice(1).join(", "));
    client.socket.destroy();
  }
  t.same(sent, [
    "Before: x, One: good, After: y",
    ...Array(4).fill("Before: x, After: y"),
    "Before: x, One: good, After: y",
    "Before: x, Two: good, After: y",
  ]);
});
