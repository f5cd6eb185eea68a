/** The dialogs that register and delete a client of OAuth. */
import type { Client, CreateClientResponse, Grant } from "../../../src/api/types.js";
import { call } from "../session/api.js";
import { useLoad } from "../state/load.js";
import { CheckField, LinesField, TextField } from "../ui/field.js";
import { announce } from "../ui/status.js";
import { list } from "./authority.js";
import { ConfirmDialog, type DialogProps, FormDialog } from "./dialogs.js";
import { textsOf, useDraft } from "./draft.js";
import { linesOf } from "./lines.js";
import { problemsWith } from "./sign-in-problems.js";
import { counted } from "./sign-in-words.js";

export function CreateClientDialog(props: DialogProps<CreateClientResponse>) {
  const form = useDraft(() => ({ name: "", redirectUris: "", confidential: false }), problemsWith);
  const { draft, set, fields, attempt } = form;
  const text = textsOf<"name" | "redirectUris">(form);
  const create = () => call("auth/Clients/Create", { ...draft, redirectUris: linesOf(draft.redirectUris) });
  return (
    <FormDialog {...props} title="New client" action="Register client" act={() => attempt(create())}>
      <div class="stack" ref={fields}>
        <TextField
          label="Name"
          hint="Lower-case letters, digits and -, such as orders-app. People read it when they are asked."
          required
          maxLength={63}
          {...text("name")}
        />
        <LinesField
          label="Redirect URIs"
          hint="One on each line, such as https://app.example/callback or http://127.0.0.1/callback. Compared exactly; the port of a loopback address is free."
          {...text("redirectUris")}
        />
        <CheckField
          label="It keeps a secret"
          hint="For programs on a server. The secret is shown once. Programs on people’s devices can keep none."
          checked={draft.confidential}
          onInput={(confidential) => set({ confidential })}
        />
      </div>
    </FormDialog>
  );
}

export function DeleteClientDialog({ client: { id }, ...props }: { readonly client: Client } & DialogProps) {
  const grants = useLoad(list.grants, []);
  const act = async () => {
    const ended = await call("auth/Clients/Delete", { id });
    announce(`Client ${id} is deleted, with ${counted(ended.grants, "grant")}`);
    return ended;
  };
  return (
    <ConfirmDialog {...props} title="Delete a client" name={id} what="its client_id" action="Delete client" act={act}>
      <p>Takes effect at once, everywhere: it may ask nobody any more, its tokens are refused, and open streams end.</p>
      <p>{grantsInWords(grants.value?.filter(({ clientId }) => clientId === id))}</p>
    </ConfirmDialog>
  );
}

/** @param grants undefined while they are not known */
function grantsInWords(grants: readonly Grant[] | undefined): string {
  if (grants === undefined) return "Every grant that people made to it ends.";
  if (grants.length === 0) return "Nobody has granted it anything.";
  const people = [...new Set(grants.map(({ account }) => account))];
  const named = people.slice(0, MAX_NAMED).join(", ");
  return `${counted(grants.length, "grant")} of ${named}${people.length > MAX_NAMED ? ", …" : ""} ${grants.length === 1 ? "ends" : "end"}.`;
}

const MAX_NAMED = 10;
