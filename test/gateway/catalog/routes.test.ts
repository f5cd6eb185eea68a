// Paths lead to endpoints in every equivalent spelling, and in no other.

import t from "tap";
import { Routes } from "../../../gateway/catalog/routes.js";
import type { EndpointTarget } from "../../../gateway/catalog/target.js";
import { HttpError } from "../../../gateway/http/errors.js";
import { descriptorsOf } from "../../../src/contract/built-in-files.js";
import { type Endpoint, endpointsOf, readDescriptors } from "../../../src/contract/endpoint.js";
import { fc } from "../../support/properties.js";

const types = readDescriptors(descriptorsOf());
const HELLO = endpointsOf("helloworld", types, ["helloworld.Helloworld"]);

/** A target with only the properties that routes need. */
const targets = (endpoints: readonly Endpoint[]): EndpointTarget[] =>
  endpoints.map((endpoint) => ({ endpoint }) as EndpointTarget);

function routesOf(services: Record<string, readonly Endpoint[]>): Routes {
  const routes = new Routes();
  for (const [service, endpoints] of Object.entries(services)) routes.set(service, targets(endpoints));
  return routes;
}

/** An endpoint with any name that descriptors could have. */
function endpoint(service: string, grpcService: string, method: string): Endpoint {
  const model = HELLO[0] as Endpoint;
  const short = grpcService.slice(grpcService.lastIndexOf(".") + 1);
  const name = `${grpcService}.${method}`;
  return {
    ...model,
    service,
    name: `${service}:${name}`,
    shortPath: short.toLowerCase() === service,
    segments: { type: "service", name: service, endpoint: name.toLowerCase() },
    grpcService: `p.${grpcService}`,
    methodName: method,
  };
}

const found = (routes: Routes, path: string): string | undefined => routes.find(path)?.target.endpoint.name;

t.test("the gRPC service's name may be left out if exactly one is named like the service", async (t) => {
  const one = routesOf({ shop: [endpoint("shop", "Shop", "Buy"), endpoint("shop", "Till", "Pay")] });
  t.equal(found(one, "/shop/buy"), "shop:Shop.Buy");
  t.equal(found(one, "/shop/shop/buy"), "shop:Shop.Buy");
  t.equal(found(one, "/shop/pay"), undefined);
  t.equal(found(one, "/shop/till.pay"), "shop:Till.Pay");
  const two = routesOf({ shop: [endpoint("shop", "a.Shop", "Buy"), endpoint("shop", "b.shop", "Buy")] });
  t.equal(found(two, "/shop/buy"), undefined);
  t.equal(found(two, "/shop/a.shop/buy"), "shop:a.Shop.Buy");
  t.equal(found(two, "/shop/b.shop.buy"), "shop:b.shop.Buy");
});

t.test("the name of the only gRPC service may be left out, whatever it is", async (t) => {
  const [call] = endpointsOf("greeter", types, ["helloworld.Helloworld"]);
  const routes = routesOf({ greeter: call === undefined ? [] : [call] });
  for (const path of [
    "/greeter/call",
    "/greeter",
    "/v1/greeter/call",
    "/greeter/helloworld/call",
    "/greeter/helloworld.call",
  ])
    t.equal(found(routes, path), "greeter:Helloworld.Call", path);
  t.equal(routes.near("/greeter/cal").path, "/greeter/Call", "and the path that is shown leaves it out");
  const health = "grpc.health.v1.Health";
  const two = endpointsOf("greeter", types, ["helloworld.Helloworld", health]);
  t.equal(found(routesOf({ greeter: two }), "/greeter/call"), undefined, "with another one it is ambiguous");
  t.equal(routesOf({ greeter: two }).near("/greeter/call").path, "/greeter/Helloworld/Call");
  const three = endpointsOf("helloworld", types, ["helloworld.Helloworld", health]);
  t.equal(
    found(routesOf({ helloworld: three }), "/helloworld/call"),
    "helloworld:Helloworld.Call",
    "but for its namesake",
  );
});

t.test("the service's name alone means its Call, and nothing if it has no Call", async (t) => {
  const routes = routesOf({ helloworld: HELLO, shop: [endpoint("shop", "Shop", "Buy")] });
  t.equal(found(routes, "/helloworld"), "helloworld:Helloworld.Call");
  t.equal(found(routes, "/v1/helloworld"), undefined);
  t.equal(found(routes, "/shop"), undefined);
});

t.test("endpoints whose names differ only in case are refused, and change nothing", async (t) => {
  const routes = routesOf({ shop: [endpoint("shop", "Shop", "Buy")] });
  const twins = targets([endpoint("shop", "Shop", "Sell"), endpoint("shop", "Shop", "sell")]);
  t.throws(() => routes.set("shop", twins), /told apart by case alone/);
  t.equal(found(routes, "/shop/buy"), "shop:Shop.Buy");
  t.equal(found(routes, "/shop/sell"), undefined);
});

t.test("a service that is replaced or deleted leaves no path behind", async (t) => {
  const routes = routesOf({ shop: [endpoint("shop", "Shop", "Buy"), endpoint("shop", "Shop", "Call")] });
  routes.set("shop", targets([endpoint("shop", "Shop", "Sell")]));
  for (const path of ["/shop", "/shop/buy", "/v1/shop/buy", "/shop/shop.buy"]) t.equal(found(routes, path), undefined);
  t.equal(found(routes, "/v1/shop/sell"), "shop:Shop.Sell");
  routes.delete("shop");
  t.equal(found(routes, "/v1/shop/sell"), undefined);
});

t.test("a path leads to an endpoint exactly when it differs at most in case and needless encoding", async (t) => {
  const routes = routesOf({
    helloworld: HELLO,
    shop: [endpoint("shop", "Shop", "Call"), endpoint("shop", "Till", "Pay")],
  });
  const spelt = new Map<string, string>();
  const add = (service: string, grpcService: string, method: string, short: boolean): void => {
    const name = `${service}:${grpcService}.${method}`;
    for (const version of ["", "/v1"]) {
      spelt.set(`${version}/${service}/${grpcService}/${method}`.toLowerCase(), name);
      spelt.set(`${version}/${service}/${grpcService}.${method}`.toLowerCase(), name);
      if (short) spelt.set(`${version}/${service}/${method}`.toLowerCase(), name);
    }
    if (short && method === "Call") spelt.set(`/${service}`, name);
  };
  add("helloworld", "Helloworld", "Call", true);
  add("helloworld", "Helloworld", "Stream", true);
  add("shop", "Shop", "Call", true);
  add("shop", "Till", "Pay", false);

  const chunks =
    "/ // /v1 /helloworld /shop helloworld Helloworld shop Till /call .Call /Pay . .. %2e %2E %2f %63 %43 %c3%a4 %25 %zz % ä ; K"
      .split(" ")
      .concat("");
  const meaning = (path: string): string | undefined => {
    if (!/^\/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9a-f]{2})*$/i.test(path)) return "malformed";
    const plain = path.replace(/%(2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi, decodeURIComponent);
    return spelt.get(plain.toLowerCase());
  };
  const outcome = (path: string): string | undefined => {
    try {
      return found(routes, path);
    } catch (error) {
      return error instanceof HttpError && error.status === 400 ? "malformed" : String(error);
    }
  };
  const paths = fc.oneof(
    fc.array(fc.constantFrom(...chunks), { maxLength: 8 }).map((parts) => parts.join("")),
    fc.tuple(fc.constantFrom(...spelt.keys()), fc.infiniteStream(fc.nat(3))).map(([path, choices]) =>
      [...path]
        .map((letter) => {
          const choice = choices.next().value as number;
          if (letter === "/" || choice === 0) return letter;
          return choice === 1 ? letter.toUpperCase() : `%${letter.charCodeAt(0).toString(16)}`;
        })
        .join(""),
    ),
    fc.string({ unit: "grapheme-ascii" }),
  );
  fc.assert(
    fc.property(paths, (path) => {
      const [want, got] = [meaning(path), outcome(path)];
      if (want !== got) throw new Error(`${path}: ${got}, not ${want}`);
    }),
    { numRuns: 3000 },
  );
  t.equal(outcome("/helloworld/%63AL%4C"), "helloworld:Helloworld.Call");
});

t.test("the search for a similar path takes little time, however many paths there are", async (t) => {
  const long = "a-service-with-a-name-as-long-as-a-name-may-be-or-nearly-so-";
  const names = [...Array.from({ length: 1000 }, (_, n) => `${long}${n}`), "service-7"];
  const routes = routesOf(Object.fromEntries(names.map((name) => [name, [endpoint(name, "Some", "Thing")]])));
  const before = process.cpuUsage();
  for (let n = 0; n < 200; n++) routes.near(`/${"b".repeat(60)}${n}/x`);
  for (let n = 0; n < 20; n++) routes.near(`/servce-7/${"x".repeat(8000)}`);
  t.ok(process.cpuUsage(before).user < 2_000_000, "less than two seconds of the processor");
  t.equal(routes.near("/service-7/some/thin").path, "/service-7/Some/Thing");
});
