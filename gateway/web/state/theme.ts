/**
 * Light or dark colours. The system decides until the visitor chooses. The browser stores the
 * choice.
 */
import { Store } from "./store.js";

export type Theme = "light" | "dark";

const KEY = "portico-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = new Store<Theme>(chosen() ?? systemTheme());

/** Must be called before anything is drawn. */
export function startTheme(): void {
  show();
  const follow = () => {
    theme.set(chosen() ?? systemTheme());
    show();
  };
  system.addEventListener("change", () => chosen() === undefined && follow());
  // Another tab changed the choice, or removed everything that is stored (then there is no key).
  addEventListener("storage", ({ key }) => (key === KEY || key === null) && follow());
}

export function toggleTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  theme.set(next);
  show();
  try {
    localStorage.setItem(KEY, next);
  } catch {
    // Storage may be switched off. Then the choice is valid until the visitor leaves the page.
  }
}

function show(): void {
  document.documentElement.dataset.theme = theme.value;
}

function systemTheme(): Theme {
  return system.matches ? "dark" : "light";
}

function chosen(): Theme | undefined {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : undefined;
  } catch {
    return undefined;
  }
}
