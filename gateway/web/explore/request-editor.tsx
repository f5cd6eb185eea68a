/** The editor of a request: a form, or JSON text. Both always show the same request. */
import { useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { Field } from "../ui/field.js";
import { Tabs } from "../ui/tabs.js";
import type { EndpointDocument, Message } from "./document.js";
import { MessageForm } from "./form.js";
import { errorOf, parseExact, READS_EXACTLY, textWith } from "./json-text.js";
import { EMPTY_REQUEST } from "./request-memory.js";

interface RequestEditorProps {
  readonly described: EndpointDocument | undefined;
  readonly text: string;
  readonly onText: (text: string) => void;
}

const EDITORS = [
  { id: "form", title: "Form" },
  { id: "json", title: "JSON" },
];

export function RequestEditor({ described, text, onText }: RequestEditorProps) {
  return (
    <>
      <RequestInput request={described?.request} example={described?.example} text={text} onText={onText} />
      {text === EMPTY_REQUEST && hasMembers(described?.example) && (
        <p class="actions">
          <Button small onClick={() => onText(JSON.stringify(described?.example, null, 2))}>
            Fill in the example
          </Button>
        </p>
      )}
    </>
  );
}

function hasMembers(example: unknown): boolean {
  return typeof example === "object" && example !== null && Object.keys(example).length > 0;
}

interface RequestInputProps extends Omit<RequestEditorProps, "described"> {
  readonly request: Message | undefined;
  readonly example: unknown;
}

function RequestInput({ request, example, text, onText }: RequestInputProps) {
  // A text that is not JSON yet can be corrected only there.
  const [editor, setEditor] = useState(() => (errorOf(text) === undefined ? "form" : "json"));
  // The value of the form is stored, because its text may not be JSON yet, and then cannot be read
  // back from the request.
  const [form, setForm] = useState<{ readonly text: string; readonly value: unknown }>();
  const error = errorOf(text);
  const isForm = form?.text === text;
  const write = (value: unknown) => {
    const written = textWith(value);
    setForm({ text: written, value });
    onText(written);
  };
  if (request === undefined || !READS_EXACTLY) return <JsonEditor text={text} error={error} onText={onText} />;
  return (
    <Tabs label="Request as" tabs={EDITORS} selected={editor} onSelect={setEditor}>
      {editor === "json" ? (
        <JsonEditor text={text} error={error} onText={onText} />
      ) : isForm || error === undefined ? (
        <MessageForm
          message={request}
          path=""
          value={isForm ? form.value : parseExact(text)}
          example={example}
          onChange={write}
        />
      ) : (
        <div class="notice warning">
          <p>The form shows what the JSON says, and that cannot be read now. {error}</p>
          <p class="actions">
            <Button small onClick={() => setEditor("json")}>
              Correct the JSON
            </Button>
            <Button small onClick={() => onText(EMPTY_REQUEST)}>
              Start anew
            </Button>
          </p>
        </div>
      )}
    </Tabs>
  );
}

function JsonEditor({
  text,
  error: fault,
  onText,
}: Omit<RequestInputProps, "request" | "example"> & { error: string | undefined }) {
  return (
    <Field label={<span class="hidden">Request as JSON</span>} error={fault}>
      {(control) => (
        <textarea
          {...control}
          class="mono"
          rows={Math.min(20, Math.max(4, text.split("\n").length))}
          spellcheck={false}
          autocapitalize="none"
          value={text}
          onInput={(event) => onText(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
