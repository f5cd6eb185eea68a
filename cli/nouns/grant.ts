/** A grant: what a person has allowed a program to call. */
import { readPages } from "../../src/api/pages.js";
import type { Grant } from "../../src/api/types.js";
import { type NamedItems, namesOf } from "../command/candidates.js";
import { type Column, instant } from "../terminal/output.js";
import { deleteCommand, listCommand, type Noun } from "./noun.js";

const COLUMNS: readonly Column<Grant>[] = [
  ["ID", ({ id }) => id],
  ["Account", ({ account }) => account],
  ["Client", ({ clientId }) => clientId],
  ["Calls itself", ({ clientName }) => clientName],
  ["Resources", ({ resources, mcpOnly }) => (resources.join(", ") || "all") + (mcpOnly ? " at /mcp" : "")],
  ["Last used", ({ lastUsed }) => instant(lastUsed) || "never"],
  ["Expires", ({ expires }) => instant(expires)],
];

export const grants: NamedItems<Grant> = {
  list: (client) =>
    readPages(async (pageToken) => {
      const { grants: items, nextPageToken } = await client.ask("auth/Grants/List", { pageToken });
      return { items, nextPageToken };
    }),
  nameOf: ({ id }) => id,
};

export const grant: Noun = {
  list: listCommand({
    plural: "grants",
    summary: "list what you have allowed programs to call; an administrator's shows everyone's",
    list: grants.list,
    columns: COLUMNS,
  }),

  delete: deleteCommand({
    usage: "grant <id>",
    summary: "end a grant; nothing accepts its tokens when this returns",
    examples: ["portico auth delete grant g4f1c02d98b7a6e53"],
    completion: [namesOf(grants)],
    collection: grants,
    done: "Grant ended",
    request: ({ client }, id) => client.ask("auth/Grants/Delete", { id }),
  }),
};
