/** Asks before a call of an endpoint that is declared destructive. */
import { useSession } from "../session/session.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { Code } from "./code.js";
import { Prose } from "./prose.js";

interface ConfirmCallProps {
  /** Such as `Rules.Delete`. */
  readonly name: string;
  /** The endpoint's comment, which says what a call does. */
  readonly summary: string;
  readonly withToken: boolean;
  /** The request as JSON, without secrets. */
  readonly request: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function ConfirmCall({ name, summary, withToken, request, onConfirm, onClose }: ConfirmCallProps) {
  const session = useSession();
  return (
    <Dialog title={`Call ${name}?`} onClose={onClose}>
      <div class="stack dialog-body">
        <Prose text={summary} />
        <p>
          This is sent{" "}
          {withToken ? (
            <>
              as <code>{session?.account}</code> in the namespace <code>{session?.namespace}</code>
            </>
          ) : (
            "without a token"
          )}
          , and may not be undone:
        </p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
        <pre class="code-block" tabIndex={0}>
          <Code text={request} comment="//" />
        </pre>
      </div>
      <div class="dialog-end">
        <p class="actions end">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" onClick={onConfirm}>
            Call {name}
          </Button>
        </p>
      </div>
    </Dialog>
  );
}
