/** The four steps as a list: what is done, which is next, and how each is done. */
import type { ComponentChildren } from "preact";
import { CopyButton } from "../ui/copy-button.js";
import { CheckIcon } from "../ui/icons.js";
import type { Steps } from "./steps.js";

interface Step {
  readonly id: keyof Steps;
  readonly title: string;
  readonly how: ComponentChildren;
  /** What does it in a terminal, unless it is on the page already. */
  readonly command?: string;
}

export function StepList({ steps }: { readonly steps: Steps }) {
  const all = stepsAt(location.origin);
  const next = all.find(({ id }) => !steps[id])?.id;
  return (
    <ol class="steps">
      {all.map(({ id, title, how, command }, index) => (
        <li
          key={id}
          class={steps[id] ? "first-step done" : "first-step"}
          aria-current={id === next ? "step" : undefined}
        >
          <span class="step-mark" aria-hidden="true">
            {steps[id] ? <CheckIcon /> : index + 1}
          </span>
          <h3>
            {title}
            <span class="hidden">{steps[id] ? "(done)" : "(to do)"}</span>
          </h3>
          <p>{how}</p>
          {command !== undefined && !steps[id] && (
            <div class="step-command">
              <pre>{command}</pre>
              <CopyButton text={command} what={`the commands for: ${title}`} />
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}

const DEFAULT_ORIGIN = "http://127.0.0.1:8080";

function stepsAt(origin: string): readonly Step[] {
  const login = `portico login${origin === DEFAULT_ORIGIN ? "" : ` \\\n  --url ${origin}`}`;
  return [
    {
      id: "called",
      title: "Call it",
      how: "Press Send above, or paste the command into a terminal.",
    },
    {
      id: "added",
      title: "Add a service",
      how: (
        <>
          Name the address of a gRPC server with reflection, here or in <a href="/console/services">Services</a>.
        </>
      ),
      command: `${login}\nportico services add greeter \\\n  127.0.0.1:9000`,
    },
    {
      id: "closed",
      title: "Close the door",
      how: (
        <>
          Let in only callers with a token: create a <a href="/console/rules">rule</a> for them, and delete the rule{" "}
          <code>default</code>.
        </>
      ),
      command: [
        "portico auth create rule \\",
        "  --access=granted --scope='*' \\",
        "  --resource='*:*:*' onlyloggedin",
        "portico auth delete rule default",
      ].join("\n"),
    },
    {
      id: "keyed",
      title: "Give out a key",
      how: (
        <>
          Let a program call one service for 30 days; <a href="/connect">Connect</a> makes the key and the code.
        </>
      ),
      command: ["portico auth create key ci \\", "  --lifetime=30d \\", "  --resource='service:helloworld:*'"].join(
        "\n",
      ),
    },
  ];
}
