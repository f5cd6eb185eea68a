/**
 * The console, where accounts manage their keys, and administrators manage rules, limits, accounts
 * and namespaces.
 */
import type { ComponentChildren, ComponentType } from "preact";
import { administers, administersSome, isAdmin, type Part, type Session, useSession } from "../session/session.js";
import { SignInForm } from "../session/sign-in.js";
import { useLoad } from "../state/load.js";
import { type PageProps, useTitle } from "../state/router.js";
import { EmptyState, ErrorNotice, Progress } from "../ui/notice.js";
import { AccountPage } from "./account-page.js";
import { AccountsPage } from "./accounts.js";
import { AppsPage } from "./apps.js";
import { AuditPage } from "./audit.js";
import { KeyPage } from "./key-page.js";
import { KeysPage } from "./keys.js";
import { LimitsPage } from "./limits.js";
import { NamespacesPage } from "./namespaces.js";
import { OverviewPage } from "./overview.js";
import type { ConsoleProps } from "./page-frame.js";
import { RefusalsPage } from "./refusals.js";
import { RulesPage } from "./rules.js";
import { ServicesPage } from "./services.js";
import { UsagePage } from "./usage.js";

interface Page {
  readonly segment: string;
  readonly title: string;
  readonly page: ComponentType<ConsoleProps>;
  /** The page of one of them: `/console/keys/<prefix>`. */
  readonly one?: ComponentType<ConsoleProps & { readonly name: string }>;
  /** Whether the authority permits this session to use the page. */
  readonly isFor: (session: Session) => boolean;
}

const everyone = () => true;
const ofDefault = (session: Session) => isAdmin(session) && session.namespace === "default";

const administering = (part: Part) => (session: Session) => administers(session, part);

const administeringRules = (session: Session) => administers(session, "rules") || administersSome(session);

const PAGES: readonly Page[] = [
  { segment: "", title: "Overview", page: OverviewPage, isFor: everyone },
  { segment: "keys", title: "API keys", page: KeysPage, one: KeyPage, isFor: everyone },
  { segment: "apps", title: "Connected apps", page: AppsPage, isFor: everyone },
  { segment: "rules", title: "Rules", page: RulesPage, isFor: administeringRules },
  { segment: "limits", title: "Limits", page: LimitsPage, isFor: administeringRules },
  {
    segment: "accounts",
    title: "Accounts",
    page: AccountsPage,
    one: AccountPage,
    isFor: administering("accounts"),
  },
  { segment: "sign-in", title: "Sign-in", page: SignInPage, isFor: isAdmin },
  { segment: "namespaces", title: "Namespaces", page: NamespacesPage, isFor: ofDefault },
  { segment: "services", title: "Services", page: ServicesPage, isFor: ofDefault },
  { segment: "usage", title: "Usage", page: UsagePage, isFor: administering("audit") },
  { segment: "refusals", title: "Refusals", page: RefusalsPage, isFor: everyone },
  { segment: "audit", title: "Audit trail", page: AuditPage, isFor: administering("audit") },
];

/** Loaded when it is opened: it is long, and only few open it. */
function SignInPage() {
  const { value: Loaded, error, reload } = useLoad(async () => (await import("./sign-in.js")).SignInPage, []);
  if (error) return <ErrorNotice error={error} onRetry={reload} />;
  return Loaded === undefined ? <Progress label="Loading the page" /> : <Loaded />;
}

/** The pages that a session may use. */
export function pagesFor(session: Session): { readonly path: string; readonly title: string }[] {
  return PAGES.filter(({ isFor }) => isFor(session)).map(({ segment, title }) => ({ path: pathOf(segment), title }));
}

function pathOf(segment: string): string {
  return segment === "" ? "/console" : `/console/${segment}`;
}

export default function ConsolePage({ segments: [segment = "", name] }: PageProps) {
  const session = useSession();
  if (session === undefined) return <SignIn />;
  return (
    <div class="console" key={`${session.namespace} ${session.account}`}>
      <nav class="console-nav" aria-label="Console">
        <ul>
          {PAGES.filter(({ isFor }) => isFor(session)).map((page) => (
            <li key={page.segment}>
              <a href={pathOf(page.segment)} aria-current={page.segment === segment ? "page" : undefined}>
                {page.title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="page">
        <Content segment={segment} name={name} session={session} />
      </div>
    </div>
  );
}

function SignIn() {
  useTitle("Sign in");
  return (
    <section class="card narrow">
      <h1>Sign in to the console</h1>
      <SignInForm />
    </section>
  );
}

interface ContentProps extends ConsoleProps {
  readonly segment: string;
  readonly name: string | undefined;
}

function Content({ segment, name, session }: ContentProps) {
  const found = PAGES.find((page) => page.segment === segment);
  if (found === undefined) return <Nowhere title="There is no such page">The menu lists what there is.</Nowhere>;
  if (found.isFor(session) && found.one !== undefined && name !== undefined) {
    return <found.one key={name} session={session} name={name} />;
  }
  if (found.isFor(session)) return <found.page session={session} />;
  const who = isAdmin(session) ? "administrators of the namespace default" : "administrators";
  return (
    <Nowhere title={`${found.title}: for ${who} only`}>
      Sign in with such an account, or ask an administrator. You are signed in as <code>{session.account}</code>.
    </Nowhere>
  );
}

function Nowhere({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  useTitle(title);
  return (
    <EmptyState title={title}>
      <p>{children}</p>
    </EmptyState>
  );
}
