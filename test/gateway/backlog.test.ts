// Requests that wait unread while the channel to their service is full: when they are read, and in which order.
import { setImmediate as turn } from "node:timers/promises";
import t from "tap";
import { Backlog } from "../../gateway/backlog.js";
import { until } from "../support/until.js";

/** Requests wait whose names are given; each that is read takes one of the channel's places. */
function waiting(...names: string[]) {
  const channel = {
    places: 0,
    get isFull() {
      return this.places <= 0;
    },
  };
  const backlog = new Backlog(channel);
  const read: string[] = [];
  for (const name of names) {
    backlog.wait({
      readUnread() {
        read.push(name);
        channel.places--;
      },
    });
  }
  return { backlog, channel, read };
}

t.test("as calls end, as many are read as the channel takes, oldest first", async (t) => {
  const { backlog, channel, read } = waiting("a", "b", "c", "d");
  channel.places = 3;
  backlog.onCallEnd();
  t.same(read, [], "not within the end of the call");
  await turn();
  t.same(read, ["a", "b", "c"]);
});

t.test("where calls from elsewhere keep the channel full, one is read for two calls that end", async (t) => {
  const { backlog, read } = waiting("a", "b", "c");
  for (let call = 0; call < 4; call++) backlog.onCallEnd();
  await turn();
  t.same(read, ["a", "b"]);
});

t.test("a request that comes while others wait is not read before them", async (t) => {
  const { backlog, channel } = waiting("a");
  channel.places = 2;
  t.equal(backlog.isFull, true);
  backlog.onCallEnd();
  await turn();
  t.equal(backlog.isFull, false);
});

t.test("those that have waited for long are read though no call ends", async (t) => {
  const { backlog, read } = waiting("a", "b");
  await until(() => read.length === 2);
  backlog.wait({ readUnread: () => read.push("later") });
  await turn();
  t.same(read, ["a", "b"]);
  await until(() => read.length === 3);
});
