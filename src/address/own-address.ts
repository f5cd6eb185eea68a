/** Whether an address is one at which this process listens. */
import { hostname, networkInterfaces } from "node:os";
import type { Address, GrpcTarget } from "./address.js";
import { isLoopback } from "./loopback.js";

const EVERYWHERE = ["0.0.0.0", "::"];

/**
 * Whether a connection to the target would reach one of the addresses at which this process
 * listens. Names of hosts are not resolved, except this computer's own.
 */
export function isOwnAddress(target: GrpcTarget, listening: readonly Address[]): boolean {
  if ("path" in target) return false;
  return listening.some(({ host, port }) => port !== 0 && port === target.port && isHere(target.host, host));
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
