/**
 * The REST paths of an endpoint. Each has a button that makes the form call it. If the form cannot
 * call it, the call by curl is shown.
 */
import { Badge } from "../ui/badge.js";
import { Button } from "../ui/button.js";
import { CopyButton } from "../ui/copy-button.js";
import { canFill, curlOf, type RestPath } from "./rest.js";

interface RestPathsProps {
  readonly paths: readonly RestPath[];
  /** The path that the form calls. */
  readonly chosen: RestPath | undefined;
  readonly onChoose: (path: RestPath) => void;
}

export function RestPaths({ paths, chosen, onChoose }: RestPathsProps) {
  if (paths.length === 0) return null;
  return (
    <section class="message">
      <h2>REST paths</h2>
      <ul class="fields" aria-label="REST paths">
        {paths.map((one) => (
          <li key={`${one.method} ${one.path}`} class="field-row">
            <div class="path">
              <span class="method">{one.method}</span>
              <code>{one.path}</code>
              {one.tokenNeeded && <Badge tone="warning">token</Badge>}
              {canFill(one) ? (
                <Button
                  small
                  aria-pressed={one === chosen}
                  aria-label={`Try ${one.method} ${one.path}`}
                  onClick={() => onChoose(one)}
                >
                  Try it
                </Button>
              ) : (
                <CopyButton text={curlOf(one, location.origin)} what={`curl for ${one.method} ${one.path}`} />
              )}
            </div>
          </li>
        ))}
      </ul>
      <EnvelopeNote paths={paths} />
    </section>
  );
}

/** The forms of the responses, where clients of grpc-gateway get them. */
function EnvelopeNote({ paths }: Pick<RestPathsProps, "paths">) {
  const forms = paths.map(({ envelopes }) => envelopes);
  if (forms.every((form) => form === undefined)) return null;
  return (
    <p class="soft">
      For clients of grpc-gateway. An error is <code>{'{"code":5,"message":"…","details":[]}'}</code> with the gRPC
      code.
      {forms.includes("lines") && (
        <>
          {" "}
          A stream is a line <code>{'{"result":…}'}</code> for each message. If it fails, its last line is{" "}
          <code>{'{"error":{"code":…}}'}</code>.
        </>
      )}
    </p>
  );
}
