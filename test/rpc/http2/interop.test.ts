// gRPC's interoperability cases among our transports and grpc-js; interop.outside.ts has those with Go.
import t from "tap";
import { GrpcChannel } from "../../../src/rpc/grpc-js/channel.js";
import { channelTo, listenHttp2 } from "../../http2/serve.js";
import { dispatcherOf, listen } from "../serve.js";
import { CASES } from "./interop/cases.js";
import { testService } from "./interop/service.js";

const { address: ours } = await listenHttp2(t, dispatcherOf([testService]));
const { address: grpcJs } = await listen(t, dispatcherOf([testService]));
const fromGrpcJs = new GrpcChannel(ours);
t.teardown(() => fromGrpcJs.close());

for (const [who, channel] of [
  ["ours to ours", channelTo(t, ours)],
  ["ours to grpc-js", channelTo(t, grpcJs)],
  ["grpc-js to ours", fromGrpcJs],
] as const) {
  for (const [name, check] of Object.entries(CASES)) t.test(`${who}: ${name}`, (t) => check(t, channel));
}
