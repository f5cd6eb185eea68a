/** A gRPC server with the services of shop.proto: it knows nothing of Portico. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import grpc, { type ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { Test } from "tap";

interface Order {
  readonly id: string;
  readonly gift: boolean;
}

/**
 * Starts the server, and writes a configuration file into a data folder, by which the shop joins.
 * @param others addresses of further instances
 */
export async function joinShop(t: Test, data: string, others: readonly string[] = []): Promise<grpc.Server> {
  const descriptors = join(data, "shop.binpb");
  execFileSync("node_modules/.bin/buf", [
    "build",
    "test/scenarios",
    "--path",
    "test/scenarios/shop.proto",
    "-o",
    descriptors,
  ]);
  const { shop } = grpc.loadPackageDefinition(loadSync("test/scenarios/shop.proto", { longs: String, defaults: true }));
  const { Shop, Orders } = shop as unknown as Record<"Shop" | "Orders", ServiceClientConstructor>;
  const server = new grpc.Server();
  server.addService(Shop.service, {
    call: (_: unknown, callback: grpc.sendUnaryData<object>) => callback(null, { open: true }),
  });
  server.addService(Orders.service, {
    get: ({ request: { id, gift } }: { request: Order }, callback: grpc.sendUnaryData<Order>) =>
      callback(null, { id, gift }),
    add: async (orders: AsyncIterable<Order>, callback: grpc.sendUnaryData<Order>) => {
      let last: Order = { id: "0", gift: false };
      for await (const order of orders) last = order;
      callback(null, last);
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
  t.teardown(() => server.forceShutdown());
  const services = [{ name: "shop", target: [`127.0.0.1:${port}`, ...others], descriptors }];
  writeFileSync(join(data, "portico.json"), JSON.stringify({ services }));
  return server;
}
