/**
 * An instance of built-in services in its own process, on the store of a URL. It serves the calls
 * that its parent sends.
 */
import { BUILT_IN_SERVICES } from "../../cli/roles/built-in-services.js";
import { sharedStore } from "../../src/kit/shared-store.js";
import { openServiceStore } from "../../src/store/open.js";
import { type Calls, openCatalogue } from "../support/catalogue.js";

/**
 * A call, and its result: each message of a stream, and finally the response or the error's code.
 */
export interface Asked {
  readonly id: number;
  readonly service: string;
  readonly endpoint: string;
  readonly request: object;
  readonly streams: boolean;
}
export interface Told {
  readonly id: number;
  readonly message?: unknown;
  readonly response?: unknown;
  readonly code?: number;
}

const [url = ""] = process.argv.slice(2);
const store = sharedStore(() => openServiceStore(url, ""));
const served = new Map<string, Promise<Calls>>();
const tell = (told: Told) => process.send?.(told);

function callsOf(service: string): Promise<Calls> {
  const calls =
    served.get(service) ?? BUILT_IN_SERVICES[service]!().then((parts) => openCatalogue(service, parts, store));
  served.set(service, calls);
  return calls;
}

process.on("message", async ({ id, service, endpoint, request, streams }: Asked) => {
  try {
    const { call, stream } = await callsOf(service);
    if (!streams) return void tell({ id, response: await call(endpoint, request) });
    for await (const message of stream(endpoint, request)) tell({ id, message });
  } catch (error) {
    tell({ id, code: (error as { code?: number }).code ?? 0 });
  }
});
