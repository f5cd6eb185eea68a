/** Whether an address is one at which this process listens. */
import { hostname, networkInterfaces } from "node:os";
import type { GrpcTarget, HttpAddress } from "./address.js";
import { isLoopback } from "./loopback.js";

const EVERYWHERE = ["0.0.0.0", "::"];

/**
 * Whether a connection to the target would reach one of the addresses at which this process
 * listens. Names of hosts are not resolved, except this computer's own.
 */
export function isOwnAddress(target: GrpcTarget, listening: readonly HttpAddress[]): boolean {
  return listening.some((own) => {
    if ("path" in own || "path" in target) return "path" in own && "path" in target && own.path === target.path;
    return own.port !== 0 && own.port === target.port && isHere(target.host, own.host);
  });
}

function isHere(host: string, listening: string): boolean {
  const name = host.toLowerCase();
  if (name === listening.toLowerCase()) return true;
  const everywhere = EVERYWHERE.includes(listening);
  if (isLoopback(name)) return everywhere || isLoopback(listening.toLowerCase());
  if (!everywhere) return false;
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
  return name === hostname().toLowerCase() || EVERYWHERE.includes(name) || addresses.includes(name);
}
