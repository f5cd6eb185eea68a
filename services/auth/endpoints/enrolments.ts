/** Enrolments: creates, lists and revokes the tokens with which gateways and services join. */
import { randomBytes } from "node:crypto";
import { createToken, hashToken, tokenPrefix } from "../../../src/call/token.js";
import { GATEWAY } from "../../../src/contract/names.js";
import { failedPrecondition, notFound, type StatusError } from "../../../src/errors.js";
import type { Enrolment as StoredEnrolment } from "../../../src/gen/portico/auth/log/v1/log.js";
import {
  type CreateEnrolmentRequest,
  type CreateEnrolmentResponse,
  type Enrolment,
  EnrolmentsService,
} from "../../../src/gen/portico/auth/v1/enrolments.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import type { Changes } from "../log/changelog/changes.js";
import type { LogEvent } from "../log/changelog/decide.js";
import { hex } from "../log/state/hex.js";
import type { State } from "../log/state/state.js";
import { accountOfDefault, authorOf, checkName } from "./checks.js";

const MAX_ENROLMENTS = 1_000;
const MAX_OF_NAME = 100;

interface Options {
  readonly changes: Changes;
  /** Whether a service also joins without an enrolment. */
  readonly joinsOtherwise: (service: string) => boolean;
}

/** The gRPC service portico.auth.v1.Enrolments. */
export function enrolments({ changes, joinsOtherwise }: Options): ServicePart {
  return part(EnrolmentsService, {
    list: async (_, context) => {
      accountOfDefault(context);
      await changes.sync();
      const present = [...changes.state.enrolments.values()].map(shown);
      return { enrolments: present.sort((a, b) => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1)) };
    },
    create: (request, context) => create(changes, request, context),
    delete: async ({ name, id }, context) => {
      accountOfDefault(context);
      await changes.make(authorOf(context), (state) => {
        const sha256 = id === "" ? Buffer.alloc(0) : find(state, name, id).sha256;
        const present = state.enrolmentsOf(name);
        if (present.length === 0) throw notFound(`no enrolment with the name ${name}`);
        const isLast = (id === "" || present.length === 1) && !joinsOtherwise(name);
        const released = isLast ? namesReleased(state, name) : [];
        return [{ $case: "enrolmentDeleted", value: { name, sha256 } }, ...released, ...newSecret(name)];
      });
      return {};
    },
  });
}

async function create(
  changes: Changes,
  { name, replace }: CreateEnrolmentRequest,
  context: Context,
): Promise<CreateEnrolmentResponse> {
  accountOfDefault(context);
  checkName("name", name);
  const secret = createToken("enrolment");
  await changes.make(authorOf(context), (state) => {
    if (!replace) checkQuota(state, name);
    return [enrolmentCreated(name, secret, { beside: !replace }), ...(replace ? newSecret(name) : [])];
  });
  const stored = changes.state.enrolments.get(hex(hashToken(secret)));
  return { secret, enrolment: stored && shown(stored) };
}

/** The event of a new token. With `beside`, the name's other tokens stay valid. */
export function enrolmentCreated(name: string, token: string, { beside }: { beside: boolean }): LogEvent {
  const value = { name, sha256: hashToken(token), prefix: tokenPrefix(token), beside };
  return { $case: "enrolmentCreated", value };
}

/** With a gateway's token, also replaces the root key that the token gave access to. */
function newSecret(name: string): LogEvent[] {
  return name === GATEWAY ? [contextSecretCreated()] : [];
}

/**
 * The event that releases all gRPC names of a service. A service that cannot join any more must not
 * block names for others.
 */
function namesReleased({ grpcNames }: State, service: string): LogEvent[] {
  return grpcNames.of(service).length === 0 ? [] : [{ $case: "grpcNamesReleased", value: { service, names: [] } }];
}

/** The event of a new secret, from which the keys of caller assertions are derived. */
export function contextSecretCreated(): LogEvent {
  return { $case: "contextSecretCreated", value: { secret: randomBytes(32) } };
}

/** @throws {StatusError} FAILED_PRECONDITION when there are too many. */
export function checkQuota(state: State, name: string): void {
  const full = (max: number, of: string): StatusError =>
    failedPrecondition(`there are ${max} enrolments${of}, the most there may be; delete some`);
  if (state.enrolments.size >= MAX_ENROLMENTS) throw full(MAX_ENROLMENTS, "");
  if (state.enrolmentsOf(name).length >= MAX_OF_NAME) throw full(MAX_OF_NAME, ` of ${name}`);
}

/** @throws {StatusError} NOT_FOUND */
function find(state: State, name: string, id: string): StoredEnrolment {
  const found = state.enrolmentsOf(name).find(({ prefix }) => prefix === id);
  if (found === undefined) throw notFound(`no enrolment of ${name} with the ID ${id}`);
  return found;
}

function shown({ name, prefix, created }: StoredEnrolment): Enrolment {
  return { name, id: prefix, created };
}
