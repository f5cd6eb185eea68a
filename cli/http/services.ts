/** The services that the caller may call, as the registry lists them. */
import type { Service } from "../../src/api/types.js";
import { type Collection, namesOf, type Source } from "./candidates.js";

export const services: Collection<Service> = {
  list: async (client) => (await client.ask("registry/Registry/List")).services,
  nameOf: ({ name }) => name,
  about: ({ summary }) => firstSentence(summary),
};

export const serviceNames: Source = namesOf(services);

/** Patterns of resources: everything, each service, each endpoint. */
export const resources: Source = async ({ connect }) => {
  const listed = await services.list(connect()).catch(() => []);
  return [
    { text: "*:*:*", about: "everything" },
    ...listed.flatMap(({ name, endpoints }) => [
      { text: `service:${name}:*`, about: `every endpoint of ${name}` },
      ...endpoints.map(({ resource, summary }) => ({ text: resource, about: firstSentence(summary) })),
    ]),
  ];
};

/** `Greets a name.` of a comment that goes on. */
export function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/s.exec(text)?.[0] ?? text;
}
