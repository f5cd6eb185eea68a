/** The dialog that makes an API key: for whom, what it may call, until when, and a check. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CreateKeyResponse } from "../../../src/api/types.js";
import { ApiError } from "../http.js";
import { call } from "../session/api.js";
import { administers, type Session } from "../session/session.js";
import { type Loading, useLoad } from "../state/load.js";
import { TextField } from "../ui/field.js";
import { ErrorNotice } from "../ui/notice.js";
import { list, listTree } from "./authority.js";
import { type DialogProps, FormDialog } from "./dialogs.js";
import { coveringNothing, type TreeService } from "./endpoint-tree.js";
import { addressesIn, DEFAULT_ACCESS, KeyAccessFields, mayAdminister } from "./key-access.js";
import { defaultExpiry, ExpiryFields, lifetimeOf, problemWithExpiry } from "./key-expiry.js";
import { KeyLimits, patternsIn, problemWith } from "./key-limits.js";
import { createAccount, NEW, Owner } from "./key-owner.js";
import { KeyReach } from "./key-reach.js";

const MAX_NAME = 100;
const NOTHING: { governed: TreeService[]; own: TreeService[] } = { governed: [], own: [] };

type CreateKeyDialogProps = DialogProps<CreateKeyResponse> & {
  readonly session: Session;
  /** The account that is chosen at first; the visitor's own if absent. */
  readonly owner?: string | undefined;
};

export function CreateKeyDialog({ session, owner = session.account, onDone, onClose }: CreateKeyDialogProps) {
  const draft = useDraft(session, owner);
  return (
    <FormDialog<CreateKeyResponse | undefined>
      onClose={onClose}
      onDone={(created) => created && onDone(created)}
      title="New API key"
      action={draft.account === NEW ? "Create account" : draft.isAsking ? "Create key all the same" : "Create key"}
      act={draft.act}
    >
      <div class="new-key">
        <TextField
          label="Name"
          hint="What uses the key, such as “nightly backup”."
          error={nameProblem(draft.name)}
          required
          value={draft.name}
          onInput={draft.setName}
        />
        <Step title="1 For whom">
          <Owner {...{ ...draft, session }} accounts={draft.accounts.value ?? []} />
          <NotListed loading={draft.accounts}>
            The accounts could not be listed, so only your own can be chosen here.
          </NotListed>
        </Step>
        <Step title="2 What it may call">
          <Limits draft={draft} />
        </Step>
        <Step title="3 Until when, and from where">
          <ExpiryFields expiry={draft.expiry} onExpiry={draft.setExpiry} />
          <KeyAccessFields access={draft.access} onAccess={draft.onAccess} account={draft.chosen} />
        </Step>
        <Step title="4 Check">
          {draft.account === NEW ? (
            <p>What it may call is known once its account is created.</p>
          ) : (
            draft.services.value && <KeyReach tree={draft.governed} account={draft.account} patterns={draft.patterns} />
          )}
          {draft.nothing.length > 0 && <CoversNothing patterns={draft.nothing} isAsking={draft.isAsking} />}
        </Step>
      </div>
    </FormDialog>
  );
}

type Draft = ReturnType<typeof useDraft>;

/** Who administers keys alone sees no accounts, and makes keys of his own. */
function mayChoose(session: Session): boolean {
  return administers(session, "keys") && administers(session, "accounts");
}

/** What was chosen so far, and what becomes of it. */
function useDraft(session: Session, owner: string) {
  const [name, setName] = useState("");
  const [account, onAccount] = useState(owner);
  const [added, onAdded] = useState({ name: "", scopes: "" });
  const [isLimited, setLimited] = useState(false);
  const [text, setText] = useState("");
  const [expiry, setExpiry] = useState(defaultExpiry);
  const [access, onAccess] = useState(DEFAULT_ACCESS);
  /** The patterns about which the visitor was asked, because some cover nothing. */
  const [asked, setAsked] = useState<string>();
  const [tried, setTried] = useState(false);
  const accounts = useLoad((signal) => (mayChoose(session) ? list.accounts(signal) : Promise.resolve([])), []);
  const services = useLoad(listTree, []);
  const { governed, own } = services.value ?? NOTHING;
  const chosen = account === session.account ? session : accounts.value?.find(({ name }) => name === account);
  const patterns = isLimited ? patternsIn(text) : undefined;
  const nothing = services.value && patterns ? coveringNothing([...governed, ...own], patterns) : [];
  const isAsking = nothing.length > 0 && asked === text;
  const problem = patterns && problemWith(patterns);
  const createOwner = async () => {
    await createAccount(added);
    accounts.reload();
    onAccount(added.name);
    return undefined;
  };
  const create = async () => {
    const lifetime = lifetimeOf(expiry);
    try {
      return await call("auth/Keys/Create", {
        ...{ name: name.trim(), lifetime, resources: patterns ?? [], account },
        ...{ admin: access.admin && mayAdminister(chosen), from: addressesIn(access.from) },
      });
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.status !== 404 || account === session.account) throw thrown;
      accounts.reload();
      const detail = `There is no account ${account} any more. Choose another one in step 1; all else here stays.`;
      throw new ApiError(404, detail, thrown.requestId);
    }
  };
  const act = () => {
    if (account === NEW) return createOwner();
    setTried(true);
    if (nameProblem(name) !== undefined || problem !== undefined || problemWithExpiry(expiry) !== undefined) return;
    if (nothing.length === 0 || isAsking) return create();
    setAsked(text);
    return undefined;
  };
  return {
    ...{ name, setName, account, onAccount, added, onAdded, isLimited, setLimited, text, setText, expiry, setExpiry },
    ...{ access, onAccess, chosen, accounts, services, governed, patterns, nothing, isAsking, act },
    problem: tried || text !== "" ? problem : undefined,
  };
}

function nameProblem(name: string): string | undefined {
  const { length } = name.trim();
  return length <= MAX_NAME ? undefined : `A name has at most ${MAX_NAME} characters; this one has ${length}.`;
}

function Limits({ draft }: { readonly draft: Draft }) {
  const { isLimited, setLimited, governed, text, setText, problem, services } = draft;
  return (
    <>
      <div class="choices">
        <Choice label="Everything its account may" checked={!isLimited} onChoose={() => setLimited(false)} />
        <Choice label="Only what is ticked" checked={isLimited} onChoose={() => setLimited(true)} />
      </div>
      {isLimited && <KeyLimits tree={governed} text={text} onText={setText} problem={problem} />}
      <NotListed loading={services}>The endpoints could not be listed, so none can be ticked here.</NotListed>
    </>
  );
}

interface NotListedProps {
  readonly loading: Loading<unknown>;
  readonly children: ComponentChildren;
}

function NotListed({ loading: { error, busy, reload }, children }: NotListedProps) {
  if (error === undefined || busy) return null;
  return (
    <ErrorNotice error={error} onRetry={reload}>
      <p>{children}</p>
    </ErrorNotice>
  );
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
