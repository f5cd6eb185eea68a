/** Opens the store of services of a file for an installation, as a process does that starts, and says that it has it. */
import { openOwnedServices } from "../../src/store/owned-services.js";

const [, , dataFolder = "", installation = ""] = process.argv;

process.stdout.write("opening\n");
await openOwnedServices({ url: "sqlite:", dataFolder, installation });
process.stdout.write("opened\n");
setInterval(() => {}, 1_000);
