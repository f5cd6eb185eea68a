/** The service `helloworld` with its code loaded, for tests that compose their own process. */
import pino from "pino";
import { parts } from "../../services/helloworld/helloworld.js";
import { descriptorsOf } from "../../src/contract/built-in-files.js";
import { createService } from "../../src/kit/service.js";
import { sharedStore } from "../../src/kit/shared-store.js";

const unused = () => {
  throw new Error("helloworld keeps nothing, and calls no other service");
};

export const helloworld = createService(parts, {
  descriptors: descriptorsOf(),
  environment: { service: "helloworld", log: pino({ level: "silent" }), store: sharedStore(unused), clients: unused },
});
