/** Short labels in a colour. */
import type { ComponentChildren } from "preact";
import { isScopeOn, scopeInWords } from "../../../src/contract/admin-resources.js";

interface BadgeProps {
  readonly tone?: "neutral" | "accent" | "good" | "warning" | "bad";
  readonly title?: string;
  readonly children: ComponentChildren;
}

export function Badge({ tone = "neutral", title, children }: BadgeProps) {
  return (
    <span class={`badge ${tone}`} title={title}>
      {children}
    </span>
  );
}

/** The scopes of an account. */
export function Scopes({ scopes }: { readonly scopes: readonly string[] }) {
  if (scopes.length === 0) return <span class="hint">None</span>;
  return (
    <span class="badges">
      {scopes.map((scope) =>
        isScopeOn(scope) ? (
          <Badge key={scope} tone="accent" title="Rules, limits and keys of these resources">
            {scopeInWords(scope)}
          </Badge>
        ) : (
          <Badge key={scope} tone={scope === "admin" ? "accent" : "neutral"}>
            {scope}
          </Badge>
        ),
      )}
    </span>
  );
}
