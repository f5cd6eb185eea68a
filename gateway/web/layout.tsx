/** The frame of every page: header, navigation, sign-in dialog and status. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Account } from "./account-menu.js";
import { SearchButton } from "./search-button.js";
import { useSession } from "./session/session.js";
import { SignInDialog } from "./session/sign-in.js";
import { keepFocus } from "./state/focus.js";
import { usePath } from "./state/router.js";
import { useStore } from "./state/store.js";
import { theme, toggleTheme } from "./state/theme.js";
import { Logo, MoonIcon, SunIcon } from "./ui/icons.js";
import { Status } from "./ui/status.js";

const PARTS = [
  { path: "/explore", title: "Explore" },
  { path: "/connect", title: "Connect" },
  { path: "/console", title: "Console" },
];

export function Layout({ children }: { readonly children: ComponentChildren }) {
  const who = useSession();
  const before = useRef(who);
  useEffect(() => {
    // The button that signed in or out no longer exists.
    if (before.current !== who) keepFocus();
    before.current = who;
  }, [who]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <RequestLink />
      <Header />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <SignInDialog />
      <Status />
    </>
  );
}

/** On the page of an endpoint, a link past the header and the list of endpoints. */
function RequestLink() {
  const path = usePath();
  if (!/^\/explore\/[^/]+\/[^/]/.test(path)) return null;
  return (
    <a class="skip" href="#request">
      Skip to the request
    </a>
  );
}

function Header() {
  const path = usePath();
  return (
    <header class="header">
      <a class="brand" href="/" aria-label="Portico">
        <Logo /> <span class="brand-name">Portico</span>
      </a>
      <nav aria-label="Main">
        {PARTS.map((part) => (
          <a key={part.path} href={part.path} aria-current={path.startsWith(part.path) ? "page" : undefined}>
            {part.title}
          </a>
        ))}
      </nav>
      <div class="header-end">
        <SearchButton />
        <ThemeButton />
        <Account />
      </div>
    </header>
  );
}

function ThemeButton() {
  const dark = useStore(theme) === "dark";
  return (
    <button
      type="button"
      class="button quiet icon theme-button"
      aria-label={dark ? "Switch to light colours" : "Switch to dark colours"}
      onClick={toggleTheme}
    >
      {dark ? <SunIcon /> : <MoonIcon />}
    </button>
  );
}
