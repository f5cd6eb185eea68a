/**
 * The console's first page: some numbers, a warning if everyone may call, and the visitor's own
 * account.
 */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Key, Rule } from "../../../src/api/types.js";
import { checkSession, isAdmin } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { Scopes } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { SetPasswordDialog } from "./accounts.js";
import { Attention } from "./attention.js";
import { list } from "./authority.js";
import { LimitsOf } from "./limits-of.js";
import { type ConsoleProps, Loaded, PageHead } from "./page-frame.js";
import { daysUntil } from "./time.js";

export function OverviewPage({ session }: ConsoleProps) {
  return (
    <>
      <PageHead title="Overview" lead="Calls, keys, rules and accounts at a glance." />
      {isAdmin(session) ? <AdminTiles session={session} /> : <OwnTiles />}
      <You session={session} />
      <LimitsOf title="Limits that apply to you" withLink={isAdmin(session)} />
    </>
  );
}

function AdminTiles({ session }: ConsoleProps) {
  const loading = useLoad(async (signal) => {
    const usage = list.usage({ span: "86400s", service: "" }, signal);
    const [keys, rules, accounts, { endpoints }] = await Promise.all([
      list.keys(signal),
      list.rules(signal),
      list.accounts(signal),
      usage,
    ]);
    const sum = (field: "total" | "serverErrors") =>
      endpoints.reduce((total, { calls }) => total + Number(calls[field]), 0);
    return { keys, rules, accounts, calls: sum("total"), failed: sum("serverErrors") };
  }, []);
  return (
    <Loaded loading={loading} what="the overview">
      {({ keys, rules, accounts, calls, failed }) => (
        <>
          <GatewayNotice rules={rules} />
          <Attention session={session} keys={keys} />
          <ul class="tiles">
            <Tile href="/console/usage" value={calls} title="calls in the last day">
              {failed > 0 ? `${failed.toLocaleString()} failed with a server error` : "None failed with a server error"}
            </Tile>
            <KeyTile keys={keys} />
            <Tile href="/console/rules" value={rules.length} title={rules.length === 1 ? "rule" : "rules"}>
              {rules.length === 0 ? "Every call is refused" : "Who may call what"}
            </Tile>
            <Tile
              href="/console/accounts"
              value={accounts.length}
              title={accounts.length === 1 ? "account" : "accounts"}
            >
              {accounts.length === 1 ? "Only you so far" : "Who can sign in"}
            </Tile>
          </ul>
        </>
      )}
    </Loaded>
  );
}

function OwnTiles() {
  const keys = useLoad(list.keys, []);
  return (
    <Loaded loading={keys} what="your keys">
      {(all) => (
        <ul class="tiles">
          <KeyTile keys={all} />
          <Tile href="/explore" value="Explore" title="services">
            See and try what you may call
          </Tile>
        </ul>
      )}
    </Loaded>
  );
}

/** A key that expires within this many days is mentioned. */
const SOON_DAYS = 14;

function KeyTile({ keys }: { readonly keys: readonly Key[] }) {
  const soon = keys.filter(({ expires }) => daysUntil(expires) <= SOON_DAYS).length;
  return (
    <Tile href="/console/keys" value={keys.length} title={keys.length === 1 ? "API key" : "API keys"}>
      {keys.length === 0
        ? "Create one to call from a program"
        : soon === 0
          ? "None expires soon"
          : `${soon} ${soon === 1 ? "expires" : "expire"} soon`}
    </Tile>
  );
}

interface TileProps {
  readonly href: string;
  readonly value: number | string;
  readonly title: string;
  readonly children: ComponentChildren;
}

function Tile({ href, value, title, children }: TileProps) {
  return (
    <li>
      <a class="card tile" href={href}>
        <span class="tile-value">{value.toLocaleString()}</span> <span class="tile-title">{title}</span>
        <span class="hint">{children}</span>
      </a>
    </li>
  );
}

/** Shown while a rule grants everything to everyone, as in a fresh installation. */
function GatewayNotice({ rules }: { readonly rules: readonly Rule[] }) {
  const open = rules.find(
    ({ scope, access, resource }) => scope === "<public>" && access === "GRANTED" && resource === "*:*:*",
  );
  if (open === undefined) return null;
  return (
    <div class="notice warning">
      <p>
        <strong>The door is open.</strong> The rule <code>{open.id}</code> lets everyone call every service, with or
        without a token. To let in only callers with a token, <a href="/console/rules">create a rule for the scope *</a>{" "}
        and delete this one.
      </p>
    </div>
  );
}

function You({ session }: ConsoleProps) {
  const [changing, setChanging] = useState(false);
  const onClose = () => setChanging(false);
  return (
    <section class="card stack" aria-labelledby="you">
      <h2 id="you">Your account</h2>
      <dl class="facts">
        <dt>Account</dt>
        <dd>{session.account}</dd>
        <dt>Namespace</dt>
        <dd>{session.namespace}</dd>
        <dt>Scopes</dt>
        <dd>
          <Scopes scopes={session.scopes} />
        </dd>
      </dl>
      <p class="actions">
        <Button onClick={() => setChanging(true)}>Change password</Button>
      </p>
      {changing && (
        <SetPasswordDialog
          name={session.account}
          own
          onClose={onClose}
          onDone={() => {
            onClose();
            // The new password revoked the token.
            void checkSession();
          }}
        />
      )}
    </section>
  );
}
