/** A pattern, resource or path as code that breaks at the ends of its words. */

/** The longest part that is kept whole, in characters. A longer one would make a page too wide. */
const MAX_WHOLE = 24;

export function Pattern({ text }: { readonly text: string }) {
  const parts = text.split(/(?<=[:./_*-])(?=[^:./_*-])|(?<=[a-z0-9])(?=[A-Z])/);
  return (
    <code class={parts.every(({ length }) => length <= MAX_WHOLE) ? "pattern" : undefined}>
      {parts.map((part, index) => (
        <>
          {index > 0 && <wbr />}
          {part}
        </>
      ))}
    </code>
  );
}
