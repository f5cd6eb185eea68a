/** Namespaces: creates, lists and deletes namespaces, for the administrators of `default`. */
import { randomUUID } from "node:crypto";
import { ADMIN_SCOPE, DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { alreadyExists, failedPrecondition, notFound } from "../../../src/errors.js";
import { NamespacesService } from "../../../src/gen/portico/auth/v1/namespaces.js";
import { part, type ServicePart } from "../../../src/rpc/service.js";
import type { Changes } from "../log/changelog/changes.js";
import { type Passwords, randomPassword } from "../login/passwords.js";
import { accountOfDefault, authorOf, checkName } from "./checks.js";

const MAX_NAMESPACES = 1_000;

/** The gRPC service portico.auth.v1.Namespaces. */
export function namespaces({ changes, passwords }: { changes: Changes; passwords: Passwords }): ServicePart {
  return part(NamespacesService, {
    list: async (_, context) => {
      accountOfDefault(context);
      await changes.sync();
      const present = [...changes.state.namespaces.values()].map(({ name, created }) => ({ name, created }));
      return { namespaces: present.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    },
    create: async ({ name }, context) => {
      accountOfDefault(context);
      checkName("name", name);
      const adminPassword = randomPassword();
      const password = await passwords.hash(adminPassword);
      const id = randomUUID();
      await changes.make(authorOf(context), (state) => {
        if (state.namespaces.has(name)) {
          throw alreadyExists(`a namespace with the name ${name} exists already`);
        }
        if (state.namespaces.size >= MAX_NAMESPACES) {
          throw failedPrecondition(`there are ${MAX_NAMESPACES} namespaces, the most there may be`);
        }
        const admin = { namespace: name, name: "admin", scopes: [ADMIN_SCOPE], password };
        return [
          { $case: "namespaceCreated", value: { name, id } },
          { $case: "accountCreated", value: admin },
        ];
      });
      return { namespace: { name, created: changes.state.namespaces.get(name)?.created }, adminPassword };
    },
    delete: async ({ name }, context) => {
      accountOfDefault(context);
      if (name === DEFAULT_NAMESPACE) {
        throw failedPrecondition(`the namespace ${DEFAULT_NAMESPACE} stays`);
      }
      await changes.make(authorOf(context), (state) => {
        if (!state.namespaces.has(name)) throw notFound(`no namespace with the name ${name}`);
        return [{ $case: "namespaceDeleted", value: { name } }];
      });
      return {};
    },
  });
}
