// Requests that are refused as they arrive, in an overload. Over HTTP/1.1, all received requests
// are read first, and then all refusals are written.
import { Socket } from "node:net";
import t from "tap";
import { queueRequests } from "../../../gateway/stages/request-queue.js";
import { CallQueue } from "../../../src/overload/call-queue.js";
import { inTime } from "../../support/until.js";
import { answersIn, dial, get, open, response } from "../node/dial.js";

/** Refuses every request as it arrives. */
class FullQueue extends CallQueue {
  override mayBegin(): boolean {
    return false;
  }
  override tryBegin(): boolean {
    return false;
  }
  override mustRefuse(): boolean {
    return true;
  }
}

t.test("refusals are written together", async (t) => {
  const happened: string[] = [];
  const refuse = () => {
    happened.push("refused");
    return response("", 503);
  };
  const handler = queueRequests(new FullQueue(), { serviceAt: () => "a" }, () => response("served"), refuse);
  const client = await dial(await open(t, handler));
  const { write } = Socket.prototype;
  t.capture(Socket.prototype, "write", function (this: Socket, ...args: Parameters<Socket["write"]>) {
    if (String(args[0]).startsWith("HTTP/1.1 503")) happened.push("written");
    return Reflect.apply(write, this, args);
  });
  client.socket.write(get("/a") + get("/b"));
  const responses = await inTime(client.until(/503[\s\S]*503/), "both refusals");
  t.equal(answersIn(responses), 2);
  t.same(happened, ["refused", "refused", "written", "written"]);
});
