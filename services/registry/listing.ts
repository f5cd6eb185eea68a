/** How services and their endpoints are shown to callers. */
import type { Endpoint } from "../../src/endpoint.js";
import type {
  Endpoint as ListedEndpoint,
  Service as ListedService,
} from "../../src/gen/portico/registry/v1/registry.js";
import { commentOf, summaryOf } from "./comments.js";

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

function listEndpoint({ service, name, resource, method }: Endpoint): ListedEndpoint {
  return {
    resource,
    path: pathOf(service, name),
    summary: commentOf(method, method.parent.file),
    clientStreaming: method.proto.clientStreaming,
    serverStreaming: method.proto.serverStreaming,
  };
}

/** `/v1/helloworld/Call` for `helloworld:Helloworld.Call`, `/v1/auth/Rules/List` for `auth:Rules.List`. */
function pathOf(service: string, name: string): string {
  const endpoint = name.slice(service.length + 1);
  const dot = endpoint.lastIndexOf(".");
  const grpcService = endpoint.slice(0, dot);
  const method = endpoint.slice(dot + 1);
  return grpcService.toLowerCase() === service ? `/v1/${service}/${method}` : `/v1/${service}/${grpcService}/${method}`;
}
