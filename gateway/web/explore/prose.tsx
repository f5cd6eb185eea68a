/** Comments of .proto files. They are Markdown. */
import type { ComponentChild } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

type Markdown = typeof import("./markdown.js");

let markdown: Markdown | undefined;

/** Begins to load what draws Markdown. Pages do that before they draw a comment. */
export async function loadMarkdown(): Promise<Markdown | undefined> {
  try {
    markdown ??= await import("./markdown.js");
  } catch {
    // Comments are readable without it, and the page says elsewhere if the gateway is away.
  }
  return markdown;
}

/** Draws a comment. Until its Markdown can be drawn, and if it is too long for that: plainly. */
export function Prose({ text }: { readonly text: string }) {
  const [loaded, setLoaded] = useState(markdown);
  useEffect(() => {
    if (loaded === undefined) loadMarkdown().then((module) => setLoaded(module));
  }, []);
  const drawn: ComponentChild[] | undefined = useMemo(() => loaded?.elementsOf(text), [loaded, text]);
  return <div class="prose">{drawn ?? <Plain text={text} />}</div>;
}

/** Paragraphs, lists of lines that begin with `-`, and `code`. */
function Plain({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split(/\n\s*\n/)
        .filter((block) => block.trim() !== "")
        .map((block, index) => (
          <Block key={`${index}`} text={block} />
        ))}
    </>
  );
}

function Block({ text }: { readonly text: string }) {
  const lines = text.trim().split("\n");
  if (!lines.every((line) => /^[-*] /.test(line)))
    return (
      <p>
        <Inline text={text} />
      </p>
    );
  return (
    <ul>
      {lines.map((line, index) => (
        <li key={`${index}`}>
          <Inline text={line.slice(2)} />
        </li>
      ))}
    </ul>
  );
}

/** Text with `code`. */
export function Inline({ text }: { readonly text: string }) {
  const chunks = text.split(/`([^`\n]+)`/);
  return <>{chunks.map((chunk, index) => (index % 2 === 0 ? chunk : <code key={`${index}`}>{chunk}</code>))}</>;
}
