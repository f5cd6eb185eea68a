// A string of proto3 must be UTF-8. A service with generated code refuses a request whose string is
// not.
import t from "tap";
import { Code } from "../../src/errors.js";
import { HelloworldService } from "../../src/gen/helloworld/helloworld.js";
import { unary } from "../../src/rpc/client.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { helloworld } from "../support/helloworld.js";
import { BYTES } from "./raw-service.js";
import { dispatcherOf, stayAlive } from "./serve.js";

stayAlive(t);

const method = { ...HelloworldService.call, ...BYTES };

/** A CallRequest whose name consists of these bytes. */
const named = (...bytes: number[]) => Buffer.from([0x0a, bytes.length, ...bytes]);

const REFUSED: [what: string, bytes: Buffer][] = [
  ["a byte that begins no character", named(0x61, 0xff)],
  ["a long text that ends within a character", named(...Array(60).fill(0x61), 0xc3)],
  ["half of a surrogate pair", named(0xed, 0xa0, 0x80)],
  ["an overlong encoding", named(0xc0, 0xaf)],
  ["a truncated sequence", named(0xe6, 0xbc)],
];

for (const [what, bytes] of REFUSED) {
  t.test(`${what} is refused`, async (t) => {
    const channel = new InProcessChannel(dispatcherOf([helloworld]));
    await t.rejects(unary(channel, method, bytes), { code: Code.INVALID_ARGUMENT });
  });
}

t.test("U+FFFD itself is valid", async (t) => {
  const channel = new InProcessChannel(dispatcherOf([helloworld]));
  const response = await unary(channel, method, named(...Buffer.from("a\ufffd and more than a few")));
  t.match(response.toString(), "Hello a\ufffd and more than a few");
});
