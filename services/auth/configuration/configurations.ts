/**
 * The gRPC service portico.auth.v1.Configurations: reads, plans and applies the configuration of a
 * namespace.
 */

import type { KnownCaller } from "../../../src/access/callers/known-caller.js";
import { LIMITS as LIMITS_RESTRICTION } from "../../../src/access/decide/restrictions.js";
import { administers, scopesInWords } from "../../../src/contract/admin-parts.js";
import { administeredBy } from "../../../src/contract/admin-resources.js";
import { DEFAULT_NAMESPACE } from "../../../src/contract/names.js";
import { aborted, invalidArgument, permissionDenied } from "../../../src/errors.js";
import {
  type ApplyConfigurationRequest,
  type Configuration,
  ConfigurationsService,
  type PlanConfigurationRequest,
  type PlanConfigurationResponse,
} from "../../../src/gen/portico/auth/v1/configurations.js";
import type { ConfiguredService } from "../../../src/gen/portico/registry/v1/services.js";
import { type Context, part, type ServicePart } from "../../../src/rpc/service.js";
import { shareOfRules } from "../endpoints/admin-share.js";
import { accountOf, authorOf } from "../endpoints/checks.js";
import { type PreviewedAccount, previewOf } from "../endpoints/preview.js";
import { checkResources } from "../endpoints/rules.js";
import type { Changes } from "../log/changelog/changes.js";
import type { AccountState } from "../log/state/namespace-state.js";
import type { State } from "../log/state/state.js";
import { type Draft, inItem, type Wanted } from "./draft.js";
import { changedServices, type PlanOptions, planOf } from "./plan.js";
import { configurationOf, differenceOf, etagOf, inShare, unlisted } from "./read.js";
import { LIMITS, RULES, SECTIONS, type Section } from "./sections.js";

/** Services whose contracts are read at once. */
const CHECKED_AT_ONCE = 16;

interface Options extends Pick<PlanOptions, "maxRules" | "checkService"> {
  readonly changes: Changes;
  /** Rejects with a StatusError for a service that could not be served. */
  readonly checkServed: (service: ConfiguredService) => Promise<void>;
}

export function configurations(options: Options): ServicePart {
  const { changes } = options;
  return part(ConfigurationsService, {
    read: async (_, context) => {
      const caller = accountOf(context);
      const sections = SECTIONS.filter((section) => mayHave(caller, section));
      if (sections.length === 0) throw permissionDenied("Only administrators see the configuration");
      await changes.sync();
      const { state } = changes;
      const { namespace } = caller;
      const share = shareOfRules(state, caller);
      const read = (section: Section) => inShare(section, share, section.read(state, namespace));
      return {
        configuration: configurationOf((section) => (sections.includes(section) ? read(section) : undefined)),
        etag: etagOf(state, namespace),
      };
    },
    plan: (request, context) => plan(options, request, context),
    apply: async (request, context) => ({ revision: BigInt(await apply(options, request, context)) }),
  });
}

async function plan(
  { changes, checkServed: _, ...options }: Options,
  { configuration, prune, resources }: PlanConfigurationRequest,
  context: Context,
): Promise<PlanConfigurationResponse> {
  const caller = accountOf(context);
  const { namespace } = caller;
  const wanted = checkedParts(configuration, caller);
  checkResources(resources);
  await changes.sync();
  const { state } = changes;
  const draft = planOf(state, wanted, { ...options, caller, prune, now: changes.now });
  const planned = {
    etag: etagOf(state, namespace),
    ...differenceOf(state, draft.state, namespace),
    kept: unlisted(draft.state, namespace, wanted, shareOfRules(state, caller)),
  };
  // Last, because the state may change while it is made.
  const effects = await previewOf({
    ...ruleChanges(planned),
    rules: RULES.read(state, namespace),
    resources,
    accounts: previewedAccounts(state, draft),
    signal: context.signal,
  });
  return { ...planned, effects };
}

function ruleChanges({ before, after }: Pick<PlanConfigurationResponse, "before" | "after">) {
  const rulesOf = (configuration: Configuration | undefined) => configuration?.rules?.rules ?? [];
  return { removed: rulesOf(before), added: rulesOf(after) };
}

/** An account that would be created has no token yet, so none of its calls changes. */
function previewedAccounts(before: State, { state, namespace }: Draft): PreviewedAccount[] {
  const heldBy = (account: AccountState | undefined): PreviewedAccount["scopes"] =>
    account === undefined || account.disabled ? "refused" : account.scopes;
  return before
    .accounts(namespace)
    .map((account) => {
      const { name } = account;
      return { name, scopes: heldBy(account), after: heldBy(state.account(namespace, name)) };
    })
    .filter(({ scopes, after }) => scopes !== "refused" || after !== "refused");
}

/** @throws {StatusError} (rejects) naming the place of a service that could not be served */
async function checkAllServed(
  services: readonly Wanted<ConfiguredService>[],
  checkServed: Options["checkServed"],
): Promise<void> {
  for (let start = 0; start < services.length; start += CHECKED_AT_ONCE) {
    const checks = services.slice(start, start + CHECKED_AT_ONCE).map(async ({ item, place }) => {
      const outcome = await checkServed(item).catch((error: unknown) => ({ error }));
      if (outcome !== undefined)
        inItem(place, () => {
          throw outcome.error;
        });
    });
    await Promise.all(checks);
  }
}

/** @returns the revision; 0 if there was nothing to change */
async function apply(
  { changes, checkServed, ...options }: Options,
  { configuration, prune, etag }: ApplyConfigurationRequest,
  context: Context,
): Promise<number> {
  const caller = accountOf(context);
  const wanted = checkedParts(configuration, caller);
  if ((LIMITS.of(wanted)?.length ?? 0) > 0) await changes.checkRestriction(LIMITS_RESTRICTION, "a limit of calls");
  await changes.sync();
  await checkAllServed(changedServices(changes.state, wanted), checkServed);
  let isEmpty = false;
  const revision = await changes.issue(authorOf(context), (state, now) => {
    if (etag !== "" && etag !== etagOf(state, caller.namespace)) throw moved();
    const { events } = planOf(state, wanted, { ...options, caller, prune, now });
    isEmpty = events.length === 0;
    return events;
  });
  await changes.settled(revision);
  return isEmpty ? 0 : revision;
}

function moved() {
  return aborted(
    "the configuration has changed since the plan was made, and nothing was changed now; make the plan again",
  );
}

/** @throws {StatusError} PERMISSION_DENIED for a section that the caller does not administer */
function checkedParts(configuration: Configuration | undefined, caller: KnownCaller): Configuration {
  if (configuration === undefined) throw invalidArgument("configuration: is missing");
  for (const section of SECTIONS) {
    if (section.of(configuration) === undefined || mayHave(caller, section)) continue;
    const where =
      section.name === "services" && caller.namespace !== DEFAULT_NAMESPACE ? ` in ${DEFAULT_NAMESPACE}` : "";
    const who = `they take the scope ${scopesInWords(section.part)}${where}`;
    throw permissionDenied(`${section.name}: ${caller.account} does not administer them: ${who}`);
  }
  return configuration;
}

/** Whether a caller may read and change the section, or its share of it. */
function mayHave(caller: KnownCaller, { name, part, isIn }: Section): boolean {
  if (isIn !== undefined && administeredBy(caller).length > 0) return true;
  return administers(caller, part) && (name !== "services" || caller.namespace === DEFAULT_NAMESPACE);
}
