/**
 * Portico's web pages. explore/ shows the services that the visitor may call. console/ manages
 * keys, rules, accounts and namespaces. first/ is the page at `/` of a new installation, and
 * connect/ has what to paste into each kind of client.
 *
 * main.tsx draws the layout and the part that the address names. A part is a folder with a
 * page.tsx, whose default export draws every page below its address. A part is loaded when it is
 * first needed.
 *
 *     explore/  console/  first/  connect/      the parts
 *     session/                the account that is signed in, and calls of Portico's own endpoints
 *     palette/                the search over every page (Ctrl+K), loaded when it is first opened
 *     ui/                     components of both parts; styles/ has their CSS
 *     state/                  the address, the focus, loading, light and dark
 *     http.ts                 one request to the gateway
 *
 * The pages use only the HTTP API that everyone can call. Text from elsewhere is shown as text. No
 * code sets markup, and a header makes the browser refuse it (gateway/built-in/pages.ts).
 */
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Layout } from "./layout.js";
import { restore } from "./session/session.js";
import { loadFont } from "./state/font.js";
import { type PageProps, startRouter, usePath, useTitle } from "./state/router.js";
import { startTheme } from "./state/theme.js";
import { Button } from "./ui/button.js";
import { EmptyState, Progress } from "./ui/notice.js";

type Page = ComponentType<PageProps>;

const PARTS: Readonly<Record<string, () => Promise<{ readonly default: Page }>>> = {
  "": () => import("./first/page.js"),
  explore: () => import("./explore/page.js"),
  connect: () => import("./connect/page.js"),
  console: () => import("./console/page.js"),
};

const loaded = new Map<string, Page>();

function App() {
  const [, part = "", ...segments] = usePath().split("/");
  return (
    <Layout>
      <Part key={part} part={part} segments={segments.filter((segment) => segment !== "").map(decoded)} />
    </Layout>
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function Part({ part, segments }: { readonly part: string } & PageProps) {
  const [Page, setPage] = useState<Page | undefined>(() => (part in PARTS ? loaded.get(part) : NoPage));
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (Page !== undefined) return;
    PARTS[part]?.().then(
      (module) => {
        loaded.set(part, module.default);
        setPage(() => module.default);
      },
      () => setFailed(true),
    );
  }, [part]);
  useEffect(() => {
    if (Page !== undefined) void loadFont();
  }, [Page]);
  if (Page !== undefined) return <Page segments={segments} />;
  if (!failed) return <Progress label="Loading the page" />;
  return (
    <EmptyState title="This page could not be loaded">
      <p>The gateway may have been updated meanwhile, or it cannot be reached.</p>
      <Button kind="primary" onClick={() => location.reload()}>
        Load again
      </Button>
    </EmptyState>
  );
}

function NoPage() {
  useTitle("Nothing here");
  return (
    <EmptyState title="There is no page here">
      <p>
        Nothing is at <code>{usePath()}</code>. The link may be old, or the address has a typing error.
      </p>
      <p class="actions">
        <a class="button" href="/explore">
          All services
        </a>
        <a class="button" href="/console">
          Console
        </a>
      </p>
    </EmptyState>
  );
}

startTheme();
startRouter();
void restore().finally(() => {
  const app = document.getElementById("app")!;
  app.replaceChildren();
  render(<App />, app);
});
