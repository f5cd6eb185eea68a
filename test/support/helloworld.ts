/** The service `helloworld` with its code loaded, for tests that compose a process of their own. */
import pino from "pino";
import { parts } from "../../services/helloworld/helloworld.js";
import { descriptors } from "../../src/gen/descriptors.js";
import { createService } from "../../src/kit/service.js";

const unused = () => {
  throw new Error("helloworld keeps nothing");
};

export const helloworld = createService(parts, {
  descriptors,
  environment: { service: "helloworld", log: pino({ level: "silent" }), openStore: unused, clients: undefined },
});
