/**
 * Calls that were admitted before a deletion, and whose message arrives after its acknowledgement.
 */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { Administrator, GREET } from "./cluster.js";
import type { Fault } from "./fault.js";
import type { Safeguard } from "./variant.js";

const LEASE = "2s";

const deadline = () => ({ signal: AbortSignal.timeout(10_000) });

const slowBody: Fault = {
  title: "a POST whose body comes after the deletion",
  lease: LEASE,
  safeguards: [
    {
      name: "the gateway decides again when the body has come",
      file: "gateway/stages/admit.ts",
      edits: [
        [
          "return { admission: await decider.admit(credentials, target.endpoint), body };",
          "return { admission, body };",
        ],
      ],
    },
  ],
  async run(cluster) {
    await cluster.externalService();
    await cluster.authority();
    const near = await cluster.near();
    const admin = await Administrator.login(near, cluster.data);
    const { hostname, port } = new URL(near.address("HTTP"));
    await cluster.responses(near, GREET);
    const socket = connect(Number(port), hostname);
    try {
      const head = ["POST /greeter/greet HTTP/1.1", `Host: ${hostname}:${port}`, "Content-Type: application/json"];
      socket.write([...head, "Content-Length: 20", "Expect: 100-continue", "", ""].join("\r\n"));
      const [permission] = await once(socket, "data", deadline());
      if (!/^HTTP\/1.1 100/.test(String(permission))) throw new Error(`not let in: ${permission}`);
      const { took } = await admin.deletePublicRule();
      socket.write('{"first_name":"Ada"}');
      const [response] = await once(socket, "data", deadline());
      return { calls: 1, failed: 0, wrongful: / 200 /.test(String(response)) ? 1 : 0, acknowledged: took };
    } finally {
      socket.destroy();
    }
  },
};

/** A gRPC message with the HelloRequest `{"name":"Ada"}`: flag, length, field 1. */
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);

const reauthorized: Safeguard = {
  name: "a service decides again when the message has come",
  file: "src/rpc/running-call.ts",
  edits: [["else if (this.#start.admission !== undefined) this.#runOne", "else if (this.#admitted) this.#runOne"]],
};

function lateGrpc(method: string, what: string, safeguards: readonly Safeguard[]): Fault {
  return {
    title: `a gRPC call (${what}) whose message comes after the deletion`,
    lease: LEASE,
    safeguards,
    async run(cluster) {
      await cluster.authority();
      const near = await cluster.near();
      const service = await cluster.service();
      const admin = await Administrator.login(near, cluster.data);
      await cluster.responses(near);
      const session = connectHttp2(`http://${service.address("gRPC")}`);
      try {
        await once(session, "connect", deadline());
        const headers = { ":method": "POST", "content-type": "application/grpc", te: "trailers" };
        const call = session.request({ ...headers, ":path": `/helloworld.Helloworld/${method}` }, { endStream: false });
        let status = "";
        const read = (fields: NodeJS.Dict<unknown>): void => {
          status = String(fields["grpc-status"] ?? status);
        };
        call
          .on("response", read)
          .on("trailers", read)
          .on("error", () => {});
        const closed = once(call, "close", { signal: AbortSignal.timeout(20_000) });
        // The service responds to the PING after it has read everything that was sent before the
        // PING.
        await new Promise<void>((resolve, reject) => session.ping((error) => (error ? reject(error) : resolve())));
        const { took } = await admin.deletePublicRule();
        call.end(MESSAGE);
        call.resume();
        await closed;
        return { calls: 1, failed: 0, wrongful: status === "0" ? 1 : 0, acknowledged: took };
      } finally {
        session.destroy();
      }
    },
  };
}

export const LATE: readonly Fault[] = [
  slowBody,
  lateGrpc("Call", "unary", [reauthorized]),
  lateGrpc("Stream", "server stream", []),
];
