/** How services and their endpoints are shown to callers. */
import { commentOf, summaryOf } from "../../src/contract/comments.js";
import { type Endpoint, pathOf } from "../../src/contract/endpoint.js";
import type {
  Endpoint as ListedEndpoint,
  Service as ListedService,
} from "../../src/gen/portico/registry/v1/registry.js";

/** A service with those of its endpoints that are to be shown. */
export function listService(name: string, endpoints: readonly Endpoint[], instances: number): ListedService {
  const grpcServices = [...new Set(endpoints.map(({ method }) => method.parent))];
  const main = grpcServices.find((grpcService) => grpcService.name.toLowerCase() === name) ?? grpcServices[0];
  return {
    name,
    summary: main === undefined ? "" : summaryOf(commentOf(main, main.file)),
    endpoints: endpoints.map(listEndpoint),
    instances,
  };
}

function listEndpoint(endpoint: Endpoint): ListedEndpoint {
  const { resource, method } = endpoint;
  return {
    resource,
    path: `/v1${pathOf(endpoint)}`,
    summary: commentOf(method, method.parent.file),
    clientStreaming: method.proto.clientStreaming,
    serverStreaming: method.proto.serverStreaming,
    deprecated: endpoint.deprecated,
  };
}
