/** The console: what an account, or an administrator, does with Portico itself. */
import type { PageProps } from "../page-props.js";
import { useTitle } from "../router.js";
import { useSession } from "../session.js";
import { SignInForm } from "../sign-in.js";

export default function ConsolePage(_: PageProps) {
  const session = useSession();
  useTitle("Console");
  if (session === undefined) {
    return (
      <section class="card narrow">
        <h1>Sign in to the console</h1>
        <SignInForm />
      </section>
    );
  }
  return (
    <section class="page">
      <h1>Console</h1>
      <p>
        Signed in as <strong>{session.account}</strong> in namespace <code>{session.namespace}</code>.
      </p>
    </section>
  );
}
