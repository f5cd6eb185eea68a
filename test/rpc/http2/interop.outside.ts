// gRPC's interoperability cases with grpc-go, in both directions. The installation of grpc-go needs
// Go.

import { spawn } from "node:child_process";
import t from "tap";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { goProgram, run } from "../../outside/tools.js";
import { freePort } from "../../support/ports.js";
import { dispatcherOf } from "../serve.js";
import { CASES } from "./interop/cases.js";
import { testService } from "./interop/service.js";

const VERSION = "v1.85.0";
const client = goProgram("google.golang.org/grpc/interop/client", VERSION);
const server = goProgram("google.golang.org/grpc/interop/server", VERSION);

if (client !== undefined && server !== undefined) {
  t.test("grpc-go's client to Portico's server", async (t) => {
    const { address } = await listenHttp2(t, dispatcherOf([testService]));
    for (const name of Object.keys(CASES)) {
      const parameters = ["-server_host", address.host, "-server_port", `${address.port}`, "-test_case", name];
      const { status, output } = await run(client, parameters);
      t.equal(status, 0, name);
      if (status !== 0) t.comment(output);
    }
  });

  t.test("Portico's client to grpc-go's server", async (t) => {
    const port = await freePort();
    const child = spawn(server, ["-port", `${port}`], { stdio: "ignore" });
    t.teardown(() => child.kill());
    const channel = channelTo(t, { host: "127.0.0.1", port });
    while (channel.state !== "ready") await new Promise((resolve) => setTimeout(resolve, 20));
    for (const [name, check] of Object.entries(CASES)) await t.test(name, (t) => check(t, channel));
  });
} else t.test("the suite from outside", { skip: "there is no Go here" }, async () => {});
