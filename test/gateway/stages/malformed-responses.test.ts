// A service that breaks the protocol, or another program in its place, is reported as 502.
// Overload, refusal and a lost connection are reported as 503. The service's own status is passed
// on. Tested over both transports, with unary calls and streams.
import t, { type Test } from "tap";
import type { Address } from "../../../src/address/address.js";
import { FrameType } from "../../../src/http2/frames.js";
import type { Channel } from "../../../src/rpc/channel.js";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { Http2Channel } from "../../../src/rpc/http2/channel.js";
import { BROKEN_ANSWERS, type BrokenAnswer } from "../../cases/malformed-responses.js";
import { isType, type RawPeer, rawServer, SETTINGS } from "../../http2/peer.js";
import { rawService } from "../../rpc/raw-service.js";
import { type Deployment, deploy } from "../deployment.js";

const TRANSPORTS: [name: string, connect: (address: Address) => Channel][] = [
  ["http2", (address) => new Http2Channel(address)],
  ["grpc-js", (address) => new GrpcChannel(address)],
];

for (const [name, connect] of TRANSPORTS) {
  t.test(name, async (t) => {
    const deployment = await deploy(t.testdir(), { connect });
    t.teardown(() => deployment.close());
    for (const row of BROKEN_ANSWERS) {
      const wanted = name === "grpc-js" ? (row.grpcJs?.[0] ?? row.status) : row.status;
      await t.test(`${row.title}: ${wanted}`, async (t) => {
        await odd(t, deployment, row);
        const url = `http://127.0.0.1:${deployment.gateway.address.port}/odd/helloworld`;
        for (const [shape, path] of Object.entries({ "a unary call": "call", "a stream": "stream" })) {
          const { status, detail } = await endOf(`${url}/${path}?name=Ada`);
          t.equal(status, wanted, shape);
          if (wanted === row.status && row.detail !== undefined) t.match(detail, row.detail);
        }
      });
    }
  });
}

t.test("in process, a response over 4 MiB: 502", async (t) => {
  const service = rawService({ one: () => Buffer.alloc(4 * 2 ** 20 + 1) });
  const deployment = await deploy(t.testdir(), { services: [service] });
  t.teardown(() => deployment.close());
  const { status, detail } = await endOf(`http://127.0.0.1:${deployment.gateway.address.port}/raw/one`);
  t.equal(status, 502);
  t.match(detail, /^raw responded with too much: a message is larger than 4194304 bytes$/);
});

/** Adds a service `odd` that responds to every call with the frames of the row. */
async function odd(t: Test, { add }: Deployment, { frames, closes }: BrokenAnswer): Promise<void> {
  const server = await rawServer(t);
  const response = async (peer: RawPeer): Promise<void> => {
    peer.send(SETTINGS);
    for (;;) {
      const request = await peer.next(isType(FrameType.HEADERS));
      if (request === undefined) return;
      peer.send(...frames(request.streamId));
      if (closes) peer.socket.end();
    }
  };
  const accept = async (): Promise<void> => {
    for (;;) void response(await server.next());
  };
  void accept();
  t.teardown(add({ service: "odd", addresses: [`127.0.0.1:${server.address.port}`] }));
}

/** The end of the response, or the error in the last frame of a stream. */
async function endOf(url: string): Promise<{ readonly status: number; readonly detail: string }> {
  const response = await fetch(url);
  const last = JSON.parse((await response.text()).trimEnd().split("\n").at(-1) as string);
  const { Code: status = 200, Detail: detail = "" } = response.status === 200 ? (last.error ?? {}) : last;
  return { status, detail };
}
