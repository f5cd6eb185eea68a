/** The REST paths of an endpoint, each with its call by curl to copy. */
import { Badge } from "../ui/badge.js";
import { CopyButton } from "../ui/copy-button.js";
import { curlOf, type RestPath } from "./rest.js";

export function RestPaths({ paths }: { readonly paths: readonly RestPath[] }) {
  if (paths.length === 0) return null;
  return (
    <section class="message">
      <h2>REST paths</h2>
      <ul class="fields" aria-label="REST paths">
        {paths.map((one) => (
          <li key={`${one.method} ${one.path}`} class="field-row path">
            <span class="method">{one.method}</span>
            <code>{one.path}</code>
            {one.tokenNeeded && <Badge tone="warning">token</Badge>}
            <CopyButton text={curlOf(one, location.origin)} what={`curl for ${one.method} ${one.path}`} />
          </li>
        ))}
      </ul>
    </section>
  );
}
