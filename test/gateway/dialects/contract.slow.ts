// Every dialect, over HTTP/1.1 and HTTP/2, passes the suite in test/contract/dialect.ts.
import t from "tap";
import { dialectSuite, SCENE } from "../../contract/dialect.js";
import { scene } from "./json/streams/client.js";
import { clientsOf } from "./rpc/clients.js";

t.setTimeout(120_000);

const it = await scene(t, SCENE);
for (const client of clientsOf(it.gateway.address)) dialectSuite(t, it, client);
