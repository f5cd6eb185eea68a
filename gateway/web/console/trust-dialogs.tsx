/** The dialogs that create and delete a trust, and revoke a JWT. */
import type { Issuer, Trust } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { CheckField, SelectField, TextField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { list, publicUrl } from "./authority.js";
import { ConfirmDialog, type DialogProps, FormDialog } from "./dialogs.js";
import { type DraftForm, textsOf, useDraft } from "./draft.js";
import { problemsWith } from "./sign-in-problems.js";
import { counted } from "./sign-in-words.js";

type Draft = Omit<Trust, "created">;

interface CreateTrustDialogProps extends DialogProps<Trust> {
  readonly issuers: readonly Issuer[];
}

export function CreateTrustDialog({ issuers, ...props }: CreateTrustDialogProps) {
  const form = useDraft<Draft>(
    () => ({ name: "", issuer: issuers[0]?.name ?? "", audience: "", subject: "", account: "", bearer: false }),
    problemsWith,
  );
  const { draft, attempt } = form;
  return (
    <FormDialog
      {...props}
      title="New trust"
      action="Create trust"
      act={() => attempt(call("auth/Trusts/Create", draft))}
      done={`Trust ${draft.name} is created`}
    >
      <TrustFields form={form} issuers={issuers} />
    </FormDialog>
  );
}

function TrustFields({ form, issuers }: { readonly form: DraftForm<Draft>; readonly issuers: readonly Issuer[] }) {
  const { draft, set, fields } = form;
  const text = textsOf<"name" | "issuer" | "audience" | "subject" | "account">(form);
  const address = useLoad(publicUrl, []);
  const accounts = useLoad(list.accounts, []);
  return (
    <div class="stack" ref={fields}>
      <TextField
        label="Name"
        hint="Lower-case letters, digits and -, such as deploy. It cannot be changed."
        required
        maxLength={63}
        {...text("name")}
      />
      <SelectField
        label="Issuer"
        options={issuers.map(({ name, url }) => [name, `${name}: ${url}`])}
        {...text("issuer")}
      />
      <TextField
        label="Subject"
        hint="The claim sub, such as repo:acme/shop:*. A * at its end stands for any rest: end it at a separator."
        required
        {...text("subject")}
      />
      <TextField
        label="Audience"
        hint={`What the claim aud contains, such as ${address.value ?? "https://api.example"}.`}
        required
        {...text("audience")}
      />
      <TextField
        label="Account"
        hint="The JWTs stand for it. They administer nothing, whatever the account may."
        required
        list="trust-accounts"
        {...text("account")}
      />
      <datalist id="trust-accounts">
        {accounts.value?.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <CheckField
        label="The JWT itself is a token"
        hint="Otherwise, a program exchanges it at /oauth/token for an access token."
        checked={draft.bearer}
        onInput={(bearer) => set({ bearer })}
      />
    </div>
  );
}

export function DeleteTrustDialog({ trust, ...props }: { readonly trust: Trust } & DialogProps) {
  const { name, issuer, subject, account } = trust;
  return (
    <ConfirmDialog
      {...props}
      title="Delete a trust"
      name={name}
      what="the trust’s name"
      action="Delete trust"
      act={() => call("auth/Trusts/Delete", { name })}
      done={`Trust ${name} is deleted`}
    >
      <p>
        Takes effect at once, everywhere: JWTs of {issuer} with the subject <code>{subject}</code> no longer stand for{" "}
        {account}. Tokens that came from it are refused, and open streams end.
      </p>
    </ConfirmDialog>
  );
}

/** Revokes the JWTs with an ID, which a log of the program or its platform tells. */
export function RevokeJwtDialog(props: DialogProps) {
  const form = useDraft(() => ({ jti: "" }), problemsWith);
  const { draft, fields, attempt } = form;
  const revoke = async () => {
    const { tokens } = await call("auth/Trusts/RevokeToken", { jti: draft.jti.trim() });
    announce(`Revoked: ${counted(tokens, "token")}`);
    return tokens;
  };
  return (
    <FormDialog {...props} title="Revoke a JWT" action="Revoke JWT" kind="danger" act={() => attempt(revoke())}>
      <div class="stack" ref={fields}>
        <p>
          Takes effect at once, everywhere: the JWT is refused, and what it was exchanged for. It is not accepted again.
          Others of the same trust stay valid.
        </p>
        <TextField
          label="Claim jti of the JWT"
          hint="Such as 3c2b8b2c-1f6d-4b6e-9a57-0d6f6f1c2a10. It must have been used."
          required
          {...textsOf<"jti">(form)("jti")}
        />
      </div>
    </FormDialog>
  );
}
