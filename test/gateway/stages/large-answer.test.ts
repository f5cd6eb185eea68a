// An answer that would take far more as JSON than a message may be large is told as such: it is one, and the caller can
// ask for less.
import t from "tap";
import { deploy } from "../deployment.js";

const deployment = await deploy(t.testdir(), { maxMessage: 20 });
t.teardown(() => deployment.close());

// Each of these characters takes six bytes of JSON, and the greeting stands in the answer twice.
const name = "\u0001".repeat(16);

for (const [endpoint, fields, accept] of [
  ["call", { name }, "application/json"],
  ["stream", { name, messages: 1 }, "application/x-ndjson"],
  ["stream", { name, messages: 1 }, "text/event-stream"],
] as const) {
  t.test(`${endpoint}, ${accept}`, async (t) => {
    const answer = await fetch(`http://127.0.0.1:${deployment.door.address.port}/helloworld/${endpoint}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: accept },
      body: JSON.stringify(fields),
    });
    t.equal(answer.status, 502);
    t.match(
      await answer.text(),
      /"Code":502,"Detail":"helloworld answered with too much: the message is larger than 160 bytes as JSON"/,
    );
  });
}
