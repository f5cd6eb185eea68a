/** The page of what signs in: issuers, trusts in their JWTs, and clients of OAuth. */
import { useLoad } from "../state/load.js";
import { list } from "./authority.js";
import { ClientsSection } from "./clients.js";
import { IssuersSection } from "./issuers.js";
import { PageHead } from "./page-frame.js";
import { TrustsSection } from "./trusts.js";

export function SignInPage() {
  const issuers = useLoad(list.issuers, []);
  const trusts = useLoad(list.trusts, []);
  return (
    <>
      <PageHead
        title="Sign-in"
        lead="Who gets in without a password or key of Portico’s, and which programs may ask people for access."
      />
      <IssuersSection issuers={issuers} trusts={trusts} />
      <TrustsSection issuers={issuers.value ?? []} trusts={trusts} />
      <ClientsSection />
    </>
  );
}
