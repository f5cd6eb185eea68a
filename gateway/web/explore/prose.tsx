/** Draws a comment of a .proto file: paragraphs, lists of lines that begin with `-`, and `code`. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <div class="prose">
      {text
        .split(/\n\s*\n/)
        .filter((block) => block.trim() !== "")
        .map((block, index) => (
          <Block key={`${index}`} text={block} />
        ))}
    </div>
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

/** One line. */
export function Inline({ text }: { readonly text: string }) {
  const chunks = text.split(/`([^`\n]+)`/);
  return <>{chunks.map((chunk, index) => (index % 2 === 0 ? chunk : <code key={`${index}`}>{chunk}</code>))}</>;
}
