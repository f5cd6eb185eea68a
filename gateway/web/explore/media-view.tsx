/**
 * Shows bytes as what they are: an image, a recording or text, with their size and a button that
 * saves them. They have an address of this page only (blob:). An SVG is shown by `<img>` alone,
 * where browsers run no script of it and load nothing for it.
 */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../ui/button.js";
import { DownloadIcon } from "../ui/icons.js";
import { saveFile } from "../ui/save-file.js";
import { type Media, textOf } from "./media.js";

interface MediaViewProps {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly media: Media;
  /** What the bytes are, such as the path of their field. */
  readonly name: string;
  /** The name of the file that is saved, without its extension. */
  readonly file: string;
}

/** Maximum characters of a text that are shown. */
const MAX_TEXT = 20_000;

export function MediaView({ bytes, media, name, file }: MediaViewProps) {
  return (
    <figure class="media">
      <Content bytes={bytes} media={media} name={name} />
      <figcaption>
        <span>
          <code>{name}</code> {media.summary}
        </span>
        <Button
          small
          aria-label={`Save ${name}`}
          onClick={() => saveFile(`${file}.${media.extension}`, new Blob([bytes], { type: media.type }))}
        >
          <DownloadIcon /> Save
        </Button>
      </figcaption>
    </figure>
  );
}

function Content({ bytes, media, name }: Pick<MediaViewProps, "bytes" | "media" | "name">) {
  const [broken, setBroken] = useState(false);
  const isPlayed = media.kind === "image" || media.kind === "audio";
  const address = useAddress(isPlayed ? bytes : undefined, media.type);
  useEffect(() => setBroken(false), [bytes]);
  if (broken) return <p class="soft">The browser cannot show this {media.title}. It may be damaged.</p>;
  if (media.kind === "text") {
    const text = textOf(bytes) ?? "";
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling by keyboard needs the focus.
      <pre class="code-block" tabIndex={0}>
        {text.slice(0, MAX_TEXT)}
        {text.length > MAX_TEXT && `\n… ${text.length - MAX_TEXT} characters more`}
      </pre>
    );
  }
  if (address === undefined) return null;
  if (media.kind === "image")
    return <img src={address} alt={`${name}: ${media.summary}`} onError={() => setBroken(true)} />;
  // biome-ignore lint/a11y/useMediaCaption: a recording of a service has no captions.
  return <audio controls src={address} aria-label={`${name}: ${media.summary}`} onError={() => setBroken(true)} />;
}

/** An address of the bytes, for as long as they are shown. */
function useAddress(bytes: Uint8Array<ArrayBuffer> | undefined, type: string): string | undefined {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    if (bytes === undefined) return;
    const made = URL.createObjectURL(new Blob([bytes], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, type]);
  return address;
}
