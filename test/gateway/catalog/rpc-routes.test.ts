// The service to which a gRPC path leads, by the owner of its name.
import t from "tap";
import { RpcRoutes } from "../../../gateway/catalog/rpc-routes.js";
import type { EndpointTarget } from "../../../gateway/catalog/target.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";

const types = readDescriptors(descriptorsOf());
const CALL = "/helloworld.Helloworld/Call";

/** Targets with only the properties that routes need. */
function targetsOf(service: string, grpcService = "helloworld.Helloworld"): EndpointTarget[] {
  return endpointsOf(service, types, [grpcService]).map((endpoint) => ({ endpoint }) as EndpointTarget);
}

function routesOf(...services: string[]): RpcRoutes {
  const routes = new RpcRoutes();
  for (const service of services) for (const target of targetsOf(service)) routes.add(target);
  return routes;
}

const remove = (routes: RpcRoutes, service: string): void => {
  for (const target of targetsOf(service)) routes.delete(target);
};
const firstOf = (routes: RpcRoutes, path = CALL) => routes.find(path)?.first?.target.endpoint.service;
const owned = (...services: string[]) => new Map(services.map((service) => [service, ["helloworld.Helloworld"]]));

t.test("a name without an owner leads to the only service that has it, and to none of several", async (t) => {
  const routes = routesOf("one");
  t.equal(firstOf(routes), "one");
  for (const target of targetsOf("two")) routes.add(target);
  t.equal(firstOf(routes), undefined);
  remove(routes, "one");
  t.equal(firstOf(routes), "two");
});

t.test(
  "a name leads to its owner, whichever service came first, and to no other while the owner is away",
  async (t) => {
    const routes = routesOf("thief");
    routes.owners = owned("owner");
    t.equal(firstOf(routes), undefined);
    t.equal(routes.find(CALL)?.routes.length, 1, "the header finds it");
    for (const target of targetsOf("owner")) routes.add(target);
    t.equal(firstOf(routes), "owner");
    remove(routes, "owner");
    t.equal(firstOf(routes), undefined);
  },
);

t.test("paths follow when a name changes its owner", async (t) => {
  const routes = routesOf("one", "two");
  routes.owners = owned("one");
  t.equal(firstOf(routes), "one");
  routes.owners = owned("two");
  t.equal(firstOf(routes), "two");
  t.same(
    [routes.isFirst("HELLOWORLD.Helloworld", "one"), routes.isFirst("helloworld.helloworld", "two")],
    [false, true],
  );
  routes.owners = new Map();
  t.equal(firstOf(routes), undefined);
});

t.test("only the authority owns the names of Portico, whatever a registry says", async (t) => {
  const routes = new RpcRoutes();
  for (const service of ["thief", "auth"])
    for (const target of targetsOf(service, "portico.auth.v1.Auth")) routes.add(target);
  const { routes: found = [] } = routes.find("/portico.auth.v1.Auth/Login") ?? {};
  t.same(
    found.map((route) => route.target.endpoint.service),
    ["auth"],
  );
});

t.test("nothing is stored of services that left", async (t) => {
  const routes = routesOf("one");
  routes.owners = owned("one");
  remove(routes, "one");
  t.equal(routes.find(CALL), undefined);
  routes.owners = new Map();
  t.equal(routes.find(CALL), undefined);
});
