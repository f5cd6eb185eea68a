/**
 * Health and reflection in gRPC. The gateway serves them itself, in every dialect with gRPC paths.
 * They pass the same stages as calls to services. Everyone may call them, because load balancers
 * have no token. The responses contain only what the caller may call.
 */
import type { Guard } from "../../src/call/admission.js";
import { first } from "../../src/call/metadata.js";
import { bearerOf } from "../../src/call/token.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { Callers, type Endpoint } from "../../src/contract/endpoint.js";
import type { Logger } from "../../src/log.js";
import type { CallLimits } from "../../src/rpc/call-limits.js";
import { Dispatcher } from "../../src/rpc/dispatch.js";
import { HEALTH_SERVICE } from "../../src/rpc/health.js";
import { InProcessChannel } from "../../src/rpc/in-process/channel.js";
import { REFLECTION_SERVICES, type ReflectionView, reflectionParts } from "../../src/rpc/reflection.js";
import type { Context, Service } from "../../src/rpc/service.js";
import { Contracts } from "../catalog/contracts.js";
import { PassedMetadata } from "../catalog/passed-metadata.js";
import type { Routes } from "../catalog/routes.js";
import { EndpointTarget } from "../catalog/target.js";
import { GrpcHealth } from "./grpc-health.js";
import { BUILT_IN_SERVICE, type GrpcService, GrpcServices, type ReflectionViewer } from "./grpc-services.js";
import type { HealthRoutes } from "./health.js";

export interface BuiltInGrpcOptions {
  readonly routes: Routes;
  readonly guard: Guard;
  readonly health: HealthRoutes;
  readonly limits: CallLimits;
  readonly log: Logger;
}

/** The header that names the service if several have a gRPC service of the same name. */
export const SERVICE = "portico-service";

/** Serves health and reflection at their gRPC paths. */
export function serveBuiltInGrpc({ routes, guard, health, limits, log }: BuiltInGrpcOptions): void {
  const descriptors = descriptorsOf("grpc.health.v1", "grpc.reflection.v1", "grpc.reflection.v1alpha");
  const grpcServices = [HEALTH_SERVICE, ...REFLECTION_SERVICES];
  const announced = { service: BUILT_IN_SERVICE, descriptors, grpcServices };
  const contract = new Contracts({ maxMessage: limits.maxBody }).hold(announced);
  const endpoints = contract.endpoints.map((endpoint) => ({ ...endpoint, callers: Callers.PUBLIC }));
  const [anyEndpoint] = endpoints as [Endpoint];

  // Called again for each message: a stream that everyone may open continues when its caller loses
  // a scope, but must then show less.
  const viewerOf = async ({ metadata, namespace, clientAddress: client }: Context): Promise<ReflectionViewer> => {
    const authorization = first(metadata, "authorization");
    const token = authorization === undefined ? undefined : bearerOf(authorization);
    const only = first(metadata, SERVICE);
    const { caller } = await guard.admit({ token, namespace, tokenRequired: false, client }, anyEndpoint);
    return { caller, namespace, only };
  };
  const services = new GrpcServices(routes, guard);
  const show = async (context: Context): Promise<ReflectionView<GrpcService>> => {
    const viewer = await viewerOf(context);
    const { files } = services;
    return { services: () => services.namesSeenBy(viewer), files, sees: services.seenBy(viewer) };
  };
  const parts = [new GrpcHealth({ services, health, viewerOf }).part, ...reflectionParts(show)];
  const own: Service = { name: BUILT_IN_SERVICE, descriptors, parts };
  const channel = new InProcessChannel(new Dispatcher({ services: [own], unguarded: [], guard, limits, log }));
  const metadata = new PassedMetadata([SERVICE], true);
  routes.own = endpoints.map(
    (endpoint) => new EndpointTarget(endpoint, channel, contract, { identity: "token", metadata }),
  );
}
