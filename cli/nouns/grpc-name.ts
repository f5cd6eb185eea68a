/**
 * A gRPC name: the full name of a gRPC service. It belongs to the first service that registered
 * with it.
 */
import type { ServiceNames } from "../../src/api/types.js";
import { type NamedItems, namesOf, type Source } from "../command/candidates.js";
import { deleteCommand } from "./noun.js";

const owners: NamedItems<ServiceNames> = {
  list: async (client) => (await client.ask("auth/Names/List")).services,
  nameOf: ({ service }) => service,
  about: ({ names }) => names.join(", "),
};

/** The gRPC names that the service in the previous argument owns. */
const namesOfGiven: Source = async ({ connect, given }) => {
  const listed = await owners.list(connect());
  const owner = listed.find(({ service }) => given.includes(service));
  return (owner?.names ?? []).map((text) => ({ text }));
};

/** `portico services release <service> [name]` */
export const releaseNames = deleteCommand({
  usage: "release <service> [name]",
  summary: "let other services have a service's gRPC names, or one of them",
  examples: ["portico services release orders shop.v1.Orders", "portico services release orders"],
  completion: [namesOf(owners), namesOfGiven],
  collection: owners,
  done: "Names released",
  request: ({ client }, service, name: string | undefined) => client.ask("auth/Names/Release", { service, name }),
});
