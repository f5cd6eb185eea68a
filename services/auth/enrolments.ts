/** Enrolments: the tokens by which gateways and services join. */
import { Code, StatusError } from "../../src/errors.js";
import { EnrolmentsService } from "../../src/gen/portico/auth/v1/enrolments.js";
import { type Part, part } from "../../src/rpc/service.js";
import { createToken, hashToken } from "../../src/token.js";
import { accountOfDefault, checkName } from "./callers.js";
import type { Changes } from "./changes.js";

const MAX_ENROLMENTS = 1_000;

export function enrolments({ changes }: { changes: Changes }): Part {
  return part("portico.auth.v1.Enrolments", EnrolmentsService, {
    list: async (_, context) => {
      accountOfDefault(context);
      await changes.sync();
      const present = [...changes.state.enrolments.values()].map(({ name, created }) => ({ name, created }));
      return { enrolments: present.sort((a, b) => (a.name < b.name ? -1 : 1)) };
    },
    create: async ({ name }, context) => {
      const caller = accountOfDefault(context);
      checkName("name", name);
      const secret = createToken("enrolment");
      await changes.make(caller, (state) => {
        if (!state.enrolments.has(name) && state.enrolments.size >= MAX_ENROLMENTS) {
          throw new StatusError(
            Code.FAILED_PRECONDITION,
            `there are ${MAX_ENROLMENTS} enrolments, the most there may be`,
          );
        }
        return [{ $case: "enrolmentCreated", value: { name, sha256: hashToken(secret) } }];
      });
      return { secret, enrolment: { name, created: changes.state.enrolments.get(name)?.created } };
    },
    delete: async ({ name }, context) => {
      await changes.make(accountOfDefault(context), (state) => {
        if (!state.enrolments.has(name)) throw new StatusError(Code.NOT_FOUND, `no enrolment with the name ${name}`);
        return [{ $case: "enrolmentDeleted", value: { name } }];
      });
      return {};
    },
  });
}
