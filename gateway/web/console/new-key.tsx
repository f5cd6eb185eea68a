/** The dialog that makes an API key: for whom, what it may call, until when, and what comes of it. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Account, CreateKeyResponse } from "../../../src/api/types.js";
import { ApiError } from "../http.js";
import { call } from "../session/api.js";
import { isAdmin, type Session } from "../session/session.js";
import { useLoad } from "../state/load.js";
import { SelectField, TextField } from "../ui/field.js";
import { ErrorNotice } from "../ui/notice.js";
import { announce } from "../ui/status.js";
import { list, listTree } from "./authority.js";
import { type DialogProps, FormDialog } from "./dialogs.js";
import { coveringNothing, type TreeService } from "./endpoint-tree.js";
import { defaultExpiry, ExpiryFields, lifetimeOf, problemWithExpiry } from "./key-expiry.js";
import { KeyLimits, patternsIn, problemWith } from "./key-limits.js";
import { KeyReach } from "./key-reach.js";

const MAX_NAME = 100;
/** No account has this name. */
const NEW = "<new>";
const NOTHING: { governed: TreeService[]; own: TreeService[] } = { governed: [], own: [] };

interface NewAccount {
  readonly name: string;
  readonly scopes: string;
}

type CreateKeyDialogProps = DialogProps<CreateKeyResponse> & {
  readonly session: Session;
  /** The account that is chosen at first; the visitor's own if absent. */
  readonly owner?: string | undefined;
};

export function CreateKeyDialog({ session, owner = session.account, onDone, onClose }: CreateKeyDialogProps) {
  const [name, setName] = useState("");
  const [account, setAccount] = useState(owner);
  const [added, setAdded] = useState<NewAccount>({ name: "", scopes: "" });
  const [isLimited, setLimited] = useState(false);
  const [text, setText] = useState("");
  const [expiry, setExpiry] = useState(defaultExpiry);
  /** The patterns about which the visitor was asked, because some cover nothing. */
  const [asked, setAsked] = useState<string>();
  const [tried, setTried] = useState(false);
  const accounts = useLoad((signal) => (isAdmin(session) ? list.accounts(signal) : Promise.resolve([])), []);
  const services = useLoad(listTree, []);
  const { governed, own } = services.value ?? NOTHING;
  const patterns = isLimited ? patternsIn(text) : undefined;
  const nothing = services.value && patterns ? coveringNothing([...governed, ...own], patterns) : [];
  const isAsking = nothing.length > 0 && asked === text;
  const problem = patterns && problemWith(patterns);

  const create = async () => {
    const resources = patterns ?? [];
    try {
      return await call("auth/Keys/Create", { name: name.trim(), lifetime: lifetimeOf(expiry), resources, account });
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.status !== 404 || account === session.account) throw thrown;
      accounts.reload();
      const detail = `There is no account ${account} any more. Choose another one in step 1; all else here stays.`;
      throw new ApiError(404, detail, thrown.requestId);
    }
  };
  const createOwner = async () => {
    await createAccount(added);
    accounts.reload();
    setAccount(added.name);
    return undefined;
  };
  const act = () => {
    if (account === NEW) return createOwner();
    setTried(true);
    if (nameProblem(name) !== undefined || problem !== undefined || problemWithExpiry(expiry) !== undefined) return;
    if (nothing.length === 0 || isAsking) return create();
    setAsked(text);
    return undefined;
  };
  return (
    <FormDialog<CreateKeyResponse | undefined>
      onClose={onClose}
      onDone={(created) => created && onDone(created)}
      title="New API key"
      action={account === NEW ? "Create account" : isAsking ? "Create key all the same" : "Create key"}
      act={act}
    >
      <div class="new-key">
        <TextField
          label="Name"
          hint="What uses the key, such as “nightly backup”."
          error={nameProblem(name)}
          required
          value={name}
          onInput={setName}
        />
        <Step title="1 For whom">
          <Owner
            {...{ session, account, added, accounts: accounts.value ?? [] }}
            onAccount={setAccount}
            onAdded={setAdded}
          />
          {accounts.error && !accounts.busy && (
            <ErrorNotice error={accounts.error} onRetry={accounts.reload}>
              <p>The accounts could not be listed, so only your own can be chosen here.</p>
            </ErrorNotice>
          )}
        </Step>
        <Step title="2 What it may call">
          <Choice label="Everything its account may" checked={!isLimited} onChoose={() => setLimited(false)} />
          <Choice label="Only what is ticked" checked={isLimited} onChoose={() => setLimited(true)} />
          {isLimited && (
            <KeyLimits
              tree={governed}
              text={text}
              onText={setText}
              problem={tried || text !== "" ? problem : undefined}
            />
          )}
          {services.error && !services.busy && (
            <ErrorNotice error={services.error} onRetry={services.reload}>
              <p>The endpoints could not be listed, so none can be ticked here.</p>
            </ErrorNotice>
          )}
        </Step>
        <Step title="3 Until when">
          <ExpiryFields expiry={expiry} onExpiry={setExpiry} />
        </Step>
        <Step title="4 Check">
          {account === NEW ? (
            <p>What it may call is known once its account is created.</p>
          ) : (
            services.value && <KeyReach tree={governed} account={account} patterns={patterns} />
          )}
          {nothing.length > 0 && <CoversNothing patterns={nothing} isAsking={isAsking} />}
        </Step>
      </div>
    </FormDialog>
  );
}

function nameProblem(name: string): string | undefined {
  const { length } = name.trim();
  return length <= MAX_NAME ? undefined : `A name has at most ${MAX_NAME} characters; this one has ${length}.`;
}

async function createAccount({ name, scopes }: NewAccount): Promise<void> {
  const held = scopes.split(",").map((scope) => scope.trim());
  await call("auth/Accounts/Create", {
    ...{ name, password: "", withoutPassword: true },
    scopes: held.filter((scope) => scope !== ""),
  });
  announce(`Account ${name} is created`);
}

function Step({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <fieldset class="step">
      <legend>{title}</legend>
      <div class="stack">{children}</div>
    </fieldset>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChoose: () => void;
}

function Choice({ label, checked, onChoose }: ChoiceProps) {
  return (
    <label class="check">
      <input type="radio" name="limits" checked={checked} onChange={onChoose} />
      {label}
    </label>
  );
}

interface OwnerProps {
  readonly session: Session;
  readonly account: string;
  readonly added: NewAccount;
  readonly accounts: readonly Account[];
  readonly onAccount: (account: string) => void;
  readonly onAdded: (added: NewAccount) => void;
}

function Owner({ session, account, added, accounts, onAccount, onAdded }: OwnerProps) {
  if (!isAdmin(session)) return <p>For you, {session.account}. The key calls as your account.</p>;
  const others = accounts.filter(({ name }) => name !== session.account);
  const own = others.filter(({ scopes }) => scopes.every((scope) => session.scopes.includes(scope)));
  const names = own.map(({ name }) => name);
  const isGone = account !== NEW && account !== session.account && !names.includes(account);
  const options = [
    [session.account, `Me, ${session.account}`],
    ...names.map((name) => [name, name]),
    ...(isGone ? [[account, account]] : []),
    [NEW, "A new account, without a password"],
  ] as [string, string][];
  const more = others.length - own.length;
  return (
    <>
      <SelectField
        label="The key calls as"
        options={options}
        value={account}
        onInput={onAccount}
        hint={
          more > 0
            ? `Not listed: ${more} with scopes that you lack. Who holds those scopes can make keys for them.`
            : undefined
        }
      />
      {account === NEW && (
        <>
          <TextField
            label="Account name"
            hint="Letters, digits and . _ @ + -, such as partner-acme. It cannot sign in; it calls with keys."
            required
            value={added.name}
            error={added.name.length > 128 ? `At most 128 characters; this one has ${added.name.length}.` : undefined}
            onInput={(name) => onAdded({ ...added, name })}
          />
          <TextField
            label="Scopes"
            hint="Separated by commas. Rules grant calls to scopes. May be empty."
            value={added.scopes}
            onInput={(scopes) => onAdded({ ...added, scopes })}
          />
        </>
      )}
    </>
  );
}

function CoversNothing({ patterns, isAsking }: { readonly patterns: readonly string[]; readonly isAsking: boolean }) {
  return (
    <div class="notice warning" role={isAsking ? "alert" : undefined}>
      <p>
        {patterns.length === 1 ? "This pattern covers" : "These patterns cover"} no endpoint that is registered now:
      </p>
      <ul class="plain-list">
        {patterns.map((pattern) => (
          <li key={pattern}>
            <code>{pattern}</code>
          </li>
        ))}
      </ul>
      {isAsking && <p>Correct it, or create the key all the same, for endpoints that are still to come.</p>}
    </div>
  );
}
