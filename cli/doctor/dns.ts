/** Whether DNS knows the host names and SRV names in the settings. */
import { formatAddress, formatGrpcTarget } from "../../src/address/address.js";
import { hostNameOf, type Lookup } from "../../src/address/resolved-names.js";
import { formatServiceTarget, isSrvName, lookupBoth } from "../../src/address/srv.js";
import { type Config, SETTINGS } from "../../src/config/config.js";
import { JOINING, type RoleName, STORE } from "../../src/config/setting.js";
import { isPostgresUrl, readPostgresUrl } from "../../src/store/postgres-url.js";
import { type Finding, findingsOf, inTime } from "./finding.js";

const { ok, problem } = findingsOf("DNS");

/** A name to look up, and where it stands. */
interface Name {
  readonly name: string;
  /** The variable, or the service in the configuration file. */
  readonly place: string;
}

export async function checkNames(
  role: RoleName,
  config: Config,
  lookup: Lookup = lookupBoth(),
): Promise<readonly Finding[]> {
  const names = namesIn(role, config);
  if (names.length === 0) return [ok("The settings name no host that DNS must know")];
  return Promise.all(names.map((name) => checkName(name, lookup)));
}

async function checkName({ name, place }: Name, lookup: Lookup): Promise<Finding> {
  const kind = isSrvName(name) ? "SRV records" : "addresses";
  try {
    const found = await inTime("no name server responded", lookup(name));
    if (found.length > 0) return ok(`${name} of ${place} has ${kind}: ${found.length}`);
    return problem(`${name} of ${place} has no ${kind}: correct the name, or its record`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return problem(`${name} of ${place} has no ${kind} (${code ?? message}): correct the name, or its record`);
  }
}

function namesIn(role: RoleName, config: Config): Name[] {
  const targets = JOINING.includes(role) ? config.authority.map(formatGrpcTarget) : [];
  const inSettings = [
    ...targets.map((target) => [target, SETTINGS.authority.variable] as const),
    ...(STORE.includes(role) && isPostgresUrl(config.store) ? serversOf(config.store) : []),
    ...(config.advertise === undefined
      ? []
      : [[formatAddress(config.advertise), SETTINGS.advertise.variable] as const]),
  ].flatMap(([address, place]) => {
    const name = hostNameOf(address);
    return name === undefined ? [] : [{ name, place }];
  });
  const ofServices = STORE.includes(role) ? config.services : [];
  const inFile = ofServices.flatMap(({ name: service, targets }) =>
    targets.flatMap(({ target }) => {
      const text = formatServiceTarget(target);
      const name = isSrvName(text) ? text : hostNameOf(text);
      return name === undefined ? [] : [{ name, place: `the service ${service}` }];
    }),
  );
  return [...inSettings, ...inFile];
}

function serversOf(url: string): (readonly [address: string, place: string])[] {
  const { servers } = readPostgresUrl(url, "portico");
  // The port is only for the form host:port.
  return servers.map(({ host, port = 5432 }) => [`${host}:${port}`, SETTINGS.store.variable]);
}
