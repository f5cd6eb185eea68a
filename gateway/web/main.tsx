/**
 * Portico's web pages: explore, which shows the services that can be called, and the console, which administers.
 *
 * How they are put together:
 * - main.tsx draws the layout and the part that the address names. A part is a folder with a page.tsx, whose default
 *   export draws every page below its address; it is loaded when it is first needed.
 * - router.ts knows addresses, session.ts who is signed in, api.ts Portico's own API, load.ts what is on its way,
 *   theme.ts light and dark, store.ts values that pages follow. ui/ has the components and styles/ how they look.
 * - Everything the pages do is done by the API that anyone can call. Text from elsewhere is only ever shown as text:
 *   nothing here sets markup, and the browser is told to refuse it (gateway/own/pages.ts).
 */
import { type ComponentType, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Layout } from "./layout.js";
import { type PageProps, startRouter, usePath } from "./state/router.js";
import { startTheme } from "./state/theme.js";
import { Button } from "./ui/button.js";
import { EmptyState, Progress } from "./ui/notice.js";

type Page = ComponentType<PageProps>;

const PARTS: Readonly<Record<string, () => Promise<{ readonly default: Page }>>> = {
  explore: () => import("./explore/page.js"),
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
  const [Page, setPage] = useState<Page | undefined>(() => loaded.get(part));
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

startTheme();
startRouter();
const app = document.getElementById("app")!;
app.replaceChildren();
render(<App />, app);
