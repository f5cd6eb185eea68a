/**
 * Opens a file as the services' store of an installation, like a starting process does, and prints
 * when the store is open.
 */
import { openOwnedServices } from "../../src/store/owned-services.js";

const [, , dataFolder = "", installation = ""] = process.argv;

process.stdout.write("opening\n");
await openOwnedServices({ url: "sqlite:", dataFolder, installation });
process.stdout.write("opened\n");
setInterval(() => {}, 1_000);
