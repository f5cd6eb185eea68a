// gRPC's interoperability cases between Portico's HTTP/2 and grpc-js. interop.outside.ts runs them
// with grpc-go.
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
  ["Portico to Portico", channelTo(t, ours)],
  ["Portico to grpc-js", channelTo(t, grpcJs)],
  ["grpc-js to Portico", fromGrpcJs],
] as const) {
  for (const [name, check] of Object.entries(CASES)) t.test(`${who}: ${name}`, (t) => check(t, channel));
}
