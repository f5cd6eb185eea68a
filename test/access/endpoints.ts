/** Endpoints for the guards under test. */

import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { type Callers, type Endpoint, endpointsOf, readDescriptors } from "../../src/contract/endpoint.js";

const [found] = endpointsOf("helloworld", readDescriptors(descriptorsOf()), ["helloworld.Helloworld"]);
if (found === undefined) throw new Error("helloworld has no endpoint");

/** `helloworld:Helloworld.Call` */
export const call: Endpoint = found;

/** An endpoint with another resource, `type:name:endpoint`. */
export function endpointAt(resource: string): Endpoint {
  const [type = "", name = "", endpoint = ""] = resource.split(":");
  const segments = { type, name: name.toLowerCase(), endpoint: endpoint.toLowerCase() };
  return { ...call, service: name, name: `${name}:${endpoint}`, resource, segments };
}

/** An endpoint that declares its callers. */
export function declaring(callers: Callers): Endpoint {
  return { ...endpointAt("service:auth:Auth.Probe"), callers };
}
