// A process has a limited number of health watches.
import t from "tap";
import { GrpcHealth } from "../../../gateway/built-in/grpc-health.js";
import { GrpcServices } from "../../../gateway/built-in/grpc-services.js";
import { Routes } from "../../../gateway/catalog/routes.js";
import { Code } from "../../../src/errors.js";
import { HealthCheckResponse_ServingStatus as Serving } from "../../../src/gen/grpc/health/v1/health.js";

const MAX_WATCHES = 10_000;

t.test("a watch beyond the limit is refused until another one ends", async (t) => {
  const { part } = new GrpcHealth({
    services: new GrpcServices(new Routes(), { allows: () => true }),
    health: { isReady: true, isLeaving: false },
    viewerOf: async () => ({ caller: undefined, namespace: "default", only: undefined }),
  });
  const { watch } = part.implementation;
  // biome-ignore lint/suspicious/noExplicitAny: the watch uses only the call's signal.
  const open = (signal: AbortSignal): AsyncGenerator => watch?.({ service: "" }, { signal } as any);
  const { signal } = new AbortController();
  const first = open(signal);
  const watches = [first, ...Array.from({ length: MAX_WATCHES - 1 }, () => open(signal))];
  for (const each of watches) await each.next();
  await t.rejects(open(signal).next(), { code: Code.RESOURCE_EXHAUSTED });
  await first.return(undefined);
  t.match(await open(signal).next(), { value: { status: Serving.SERVING } });
});
