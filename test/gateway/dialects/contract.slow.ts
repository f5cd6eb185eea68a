// Every dialect, over HTTP/1.1 and HTTP/2, passes the suite in test/contract/dialect.ts.
import t from "tap";
import { dialectSuite, SCENE } from "../../contract/dialect.js";
import { serve } from "../node/http2/serve.js";
import { scene } from "./json/streams/client.js";
import { clientsOf } from "./rpc/clients.js";

t.setTimeout(120_000);

const it = await scene(t, SCENE);
const http2 = await serve(t, it.handler, { maxBody: 65_536 });
for (const client of clientsOf(it.door.address, http2.address)) dialectSuite(t, it, client);
