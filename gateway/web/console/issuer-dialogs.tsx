/** The dialogs that create and delete an issuer. */
import type { Issuer, Trust } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import type { Loading } from "../state/load.js";
import { CheckField, LinesField, TextField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { ConfirmDialog, type DialogProps, FormDialog } from "./dialogs.js";
import { type DraftForm, textsOf, useDraft } from "./draft.js";
import { linesOf } from "./lines.js";
import { problemsWith } from "./sign-in-problems.js";
import { counted } from "./sign-in-words.js";

/** An issuer while it is typed. Its fields have the names of the request's fields. */
interface Draft {
  readonly name: string;
  readonly url: string;
  /** Whether people sign in by it. The fields below count only then. */
  readonly people: boolean;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly createAccounts: boolean;
  readonly accountClaim: string;
  readonly trustClaim: boolean;
  readonly groupsClaim: string;
  /** On each line a group, `=` and a scope. */
  readonly map: string;
  readonly mayAdminister: boolean;
}

const EMPTY: Draft = {
  ...{ name: "", url: "", people: true, clientId: "", clientSecret: "", createAccounts: false },
  ...{ accountClaim: "", trustClaim: false, groupsClaim: "", map: "", mayAdminister: false },
};

function create({ name, url, people, clientSecret, ...draft }: Draft): Promise<Issuer> {
  if (!people) return call("auth/Issuers/Create", { name, url });
  const signIn = {
    ...draft,
    trustClaim: draft.trustClaim && namesByOther(draft),
    map: linesOf(draft.map).map(toGroup),
  };
  return call("auth/Issuers/Create", { name, url, clientSecret, signIn });
}

/** The name of a group may contain `=`, as in LDAP. */
function toGroup(line: string): { group: string; scope: string } {
  const at = line.lastIndexOf("=");
  return { group: line.slice(0, Math.max(at, 0)), scope: line.slice(at + 1) };
}

function namesByOther({ accountClaim }: Pick<Draft, "accountClaim">): boolean {
  return !["", "email"].includes(accountClaim);
}

export function CreateIssuerDialog(props: DialogProps<Issuer>) {
  const form = useDraft<Draft>(() => EMPTY, problemsWith);
  const { draft, set, fields, attempt } = form;
  const text = textsOf<"name" | "url">(form);
  const done = draft.people ? "Register its callback URL there." : "A trust says which of its JWTs count.";
  return (
    <FormDialog
      {...props}
      title="New issuer"
      action="Create issuer"
      act={() => attempt(create(draft))}
      done={`Issuer ${draft.name} is created. ${done}`}
    >
      <div class="stack" ref={fields}>
        <TextField
          label="Name"
          hint="Lower-case letters, digits and -, such as google. It cannot be changed."
          required
          maxLength={63}
          {...text("name")}
        />
        <TextField
          label="URL"
          hint="The claim iss of its JWTs, such as https://accounts.google.com."
          required
          {...text("url")}
        />
        <CheckField
          label="People sign in by it"
          hint={
            draft.people
              ? undefined
              : "It vouches for programs only. Nothing is accepted from it before a trust names it."
          }
          checked={draft.people}
          onInput={(people) => set({ people })}
        />
        {draft.people && <SignInFields form={form} />}
      </div>
    </FormDialog>
  );
}

function SignInFields({ form }: { readonly form: DraftForm<Draft> }) {
  const { draft, set } = form;
  const text = textsOf<"clientId" | "clientSecret">(form);
  return (
    <>
      <TextField
        label="Client ID"
        hint="Register Portico there as a client (a web application). This is the ID that it got."
        required
        {...text("clientId")}
      />
      <TextField
        label="Client secret"
        hint="Empty if it got none. It is not shown again."
        type="password"
        autocomplete="new-password"
        {...text("clientSecret")}
      />
      <CheckField
        label="Create an account for everybody who signs in"
        hint="Otherwise, an administrator first links an account to the person."
        checked={draft.createAccounts}
        onInput={(createAccounts) => set({ createAccounts })}
      />
      <ClaimFields form={form} />
    </>
  );
}

function ClaimFields({ form }: { readonly form: DraftForm<Draft> }) {
  const { draft, set } = form;
  const text = textsOf<"accountClaim" | "groupsClaim" | "map">(form);
  return (
    <details>
      <summary>Names and groups</summary>
      <div class="stack">
        <TextField
          label="Claim that names a new account"
          hint="Empty for email, which counts only if the issuer has verified it."
          {...text("accountClaim")}
        />
        {namesByOther(draft) && (
          <CheckField
            label="Trust this claim"
            hint="Only if nobody can set it for himself: whoever can, can take any name that is free."
            checked={draft.trustClaim}
            onInput={(trustClaim) => set({ trustClaim })}
          />
        )}
        <TextField label="Claim with the groups of a person" hint="Empty for groups." {...text("groupsClaim")} />
        <LinesField
          label="Scopes that groups give"
          hint="On each line a group and a scope, such as staff=employee."
          {...text("map")}
        />
        <CheckField
          label="Groups may administer"
          hint="They may give scopes that begin with admin, service: or agent:. Whoever manages groups at the issuer then manages Portico."
          checked={draft.mayAdminister}
          onInput={(mayAdminister) => set({ mayAdminister })}
        />
      </div>
    </details>
  );
}

interface DeleteIssuerDialogProps extends DialogProps {
  readonly issuer: Issuer;
  readonly trusts: Loading<readonly Trust[]>;
}

export function DeleteIssuerDialog({ issuer: { name, signIn }, trusts, ...props }: DeleteIssuerDialogProps) {
  const act = async () => {
    const ended = await call("auth/Issuers/Delete", { name });
    const people = signIn ? ` and the links of ${counted(ended.people, "person", "people")}` : "";
    announce(`Issuer ${name} is deleted, with ${counted(ended.trusts, "trust")}${people}`);
    return ended;
  };
  const ending = trusts.value?.filter(({ issuer }) => issuer === name).map((trust) => trust.name);
  return (
    <ConfirmDialog
      {...props}
      title="Delete an issuer"
      name={name}
      what="the issuer’s name"
      action="Delete issuer"
      act={act}
    >
      <p>Takes effect at once, everywhere: no token that came from it is accepted any more, and open streams end.</p>
      <p>{trustsInWords(ending)}</p>
      {signIn && (
        <p>
          Nobody signs in by it any more. The links of people to accounts end, and the scopes of their groups. The
          accounts stay.
        </p>
      )}
    </ConfirmDialog>
  );
}

/** @param trusts undefined if they could not be read */
function trustsInWords(trusts: readonly string[] | undefined): string {
  if (trusts === undefined) return "Its trusts are deleted.";
  if (trusts.length === 0) return "It has no trusts.";
  const [these, are] = trusts.length === 1 ? ["Its trust", "is"] : [`Its ${trusts.length} trusts`, "are"];
  const named = trusts.slice(0, MAX_NAMED).join(", ");
  return `${these} ${are} deleted: ${named}${trusts.length > MAX_NAMED ? ", …" : ""}.`;
}

const MAX_NAMED = 10;
