/**
 * Caller assertions for services across three authorities on one database. Any authority may issue
 * one. It is valid at a service that follows another authority. It is valid nowhere after the
 * enrolment was deleted at any of them.
 */
import t from "tap";
import { delegate } from "../../../src/access/assertions/delegation.js";
import { parseAddress } from "../../../src/address/address.js";
import type { Metadata } from "../../../src/call/metadata.js";
import { Code, StatusError } from "../../../src/errors.js";
import { HelloworldService } from "../../../src/gen/helloworld/helloworld.js";
import { unary } from "../../../src/rpc/client.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { inTime } from "../../support/until.js";
import { hasHaproxy, type Member, post, startSeveral } from "./several.js";

const RESOURCE = "service:helloworld:Helloworld.Call";
const ROUNDS = 5;
const skip = noPostgres || (hasHaproxy ? false : "there is no haproxy here");

t.test("a service's caller assertions hold across authorities, until its enrolment is deleted", { skip }, async (t) => {
  const server = await startPostgres(t);
  const { authorities, services, url, admin } = await startSeveral(t, server.url());
  const connect = ({ address }: Member): Http2Channel => {
    const channel = new Http2Channel(parseAddress(address));
    t.teardown(() => channel.close());
    return channel;
  };
  const [issuers, instances] = [authorities.map(connect), services.map(connect)];
  const change = async (endpoint: string, body: unknown) => {
    const response = await post(`${url}/v1/auth/${endpoint}`, body, admin);
    if (response.status !== 200) throw new Error(`${endpoint}: ${JSON.stringify(response)}`);
    return response.body;
  };
  await change("Rules/Create", {
    rule: { id: "front", scope: "service:front", access: "GRANTED", resource: RESOURCE },
  });
  await change("Rules/Delete", { id: "default" });
  const hello = (channel: Http2Channel, metadata: Metadata) =>
    unary(channel, HelloworldService.call, { name: "Ada" }, { metadata });

  for (let round = 0; round < ROUNDS; round++) {
    const { secret } = await change("Enrolments/Create", { name: "front" });
    const token: Metadata = [["authorization", `Bearer ${secret}`]];
    const contexts = await Promise.all(
      issuers.map(async (channel) => (await delegate({ channel, metadata: token, resource: RESOURCE })).metadata),
    );
    const pairs = contexts.flatMap((metadata) => instances.map((channel) => ({ metadata, channel })));
    for (const { metadata, channel } of pairs) t.equal((await hello(channel, metadata)).message, "Hello Ada");
    let over = false;
    let granted = 0;
    const load = pairs.map(async ({ metadata, channel }) => {
      while (!over) {
        const asked = performance.now();
        const code = await hello(channel, metadata).then(
          () => 0,
          (error) => StatusError.from(error).code,
        );
        if (code === 0 && asked > deleted) granted++;
      }
    });
    let deleted = Number.POSITIVE_INFINITY;
    await change("Enrolments/Delete", { name: "front" });
    deleted = performance.now();
    for (const { metadata, channel } of pairs)
      await t.rejects(hello(channel, metadata), { code: Code.UNAUTHENTICATED });
    for (const channel of issuers) {
      await t.rejects(delegate({ channel, metadata: token, resource: RESOURCE }), { code: Code.UNAUTHENTICATED });
    }
    over = true;
    await inTime(Promise.all(load), "the last calls of the load are answered", 60_000);
    t.equal(granted, 0, "none was granted after the answer");
  }
});
