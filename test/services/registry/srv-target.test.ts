// The registry reads the contract of a target that is an SRV name from one of its servers.
import { pino } from "pino";
import t from "tap";
import { Directory } from "../../../services/registry/directory.js";
import { ExternalServices } from "../../../services/registry/external.js";
import { lookupBoth, parseServiceTarget } from "../../../src/address/srv.js";
import { noServiceOptions } from "../../../src/config/service-options.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { serveHttp2 } from "../../../src/rpc/http2/server.js";
import { rawService } from "../../rpc/raw-service.js";
import { dispatcherOf, LIMITS } from "../../rpc/serve.js";
import { dnsServer, type SrvRecord } from "../../support/dns-server.js";
import { ownersInMemory } from "../../support/name-owners.js";

t.test("the first server that responds is read, and the instance has the name as its address", async (t) => {
  const server = await serveHttp2(dispatcherOf([rawService({})]), { host: "127.0.0.1", port: 0 }, LIMITS);
  t.teardown(() => server.close(0));
  const record = (priority: number, port: number): SrvRecord => ({ priority, weight: 1, port, host: "127.0.0.1" });
  const srv = "_grpc._tcp.raw.example";
  const resolver = await dnsServer(t, new Map([[srv, [record(1, 1), record(2, server.address.port)]]]));
  const log = pino({ level: "silent" });
  const directory = new Directory({ owners: ownersInMemory(), log });
  const external = new ExternalServices({
    directory,
    connect: (address) => new Http2Channel(address),
    lookup: lookupBoth(resolver),
    refresh: 60_000,
    log,
  });
  t.teardown(() => external.close());
  const targets = [{ target: parseServiceTarget(`dns+srv://${srv}`), weight: 1 }];
  external.set([{ name: "raw", targets, descriptors: undefined, options: noServiceOptions() }]);
  await external.tried();
  const [entry] = directory.services.get("raw") ?? [];
  t.same(entry?.instance.addresses, [`dns+srv://${srv}`]);
  t.same(entry?.instance.grpcServices, ["raw.Raw"]);
});
