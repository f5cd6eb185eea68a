/** The table of Portico's own services, but for the authority and the registry. The code of each is loaded for its first call. */
import type { Part } from "../../src/kit/index.js";

/** By name; its gRPC services are those of the proto package of that name. */
export const OWN_SERVICES: Readonly<Record<string, () => Promise<readonly Part[]>>> = {
  helloworld: async () => (await import("../../services/helloworld/helloworld.js")).parts,
};
