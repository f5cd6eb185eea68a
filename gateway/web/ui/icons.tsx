/**
 * Icons, in the colour and size of the text around them. Screen readers skip them, because the text
 * or the button's label says the same.
 */
import type { ComponentChildren } from "preact";

function Icon({ children }: { readonly children: ComponentChildren }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

const icon = (path: string) => () => (
  <Icon>
    <path d={path} />
  </Icon>
);

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 24 24" fill="currentColor" aria-hidden="true">
      <path d="M12 2 2.5 7.2v2.3h19V7.2zM4.5 11h2.8v7.4H4.5zm6.1 0h2.8v7.4h-2.8zm6.1 0h2.8v7.4h-2.8zM2.5 19.7h19V22h-19z" />
    </svg>
  );
}

export const CloseIcon = icon("m4 4 8 8m0-8-8 8");

export const CopyIcon = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 3.5v-.25c0-.7-.55-1.25-1.25-1.25h-5C3.55 2 2.5 2.55 2.5 3.75v5c0 .7.55 1.25 1.25 1.25" />
  </Icon>
);

export const CheckIcon = icon("m3 8.5 3.2 3.2L13 5");

export const SearchIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="4.25" />
    <path d="m10.3 10.3 3.2 3.2" />
  </Icon>
);

export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="2.75" />
    <path d="M8 1.5v1m0 11v1m6.5-6.5h-1m-11 0h-1m11.1-4.6-.7.7M4.1 11.9l-.7.7m9.2 0-.7-.7M4.1 4.1l-.7-.7" />
  </Icon>
);

export const MoonIcon = icon("M13.2 9.6A5.5 5.5 0 0 1 6.4 2.8a5.5 5.5 0 1 0 6.8 6.8Z");
export const DownloadIcon = icon(
  "M8 2.5v7.25m0 0L5 6.9m3 2.85 3-2.85M2.75 11.5v1c0 .55.45 1 1 1h8.5c.55 0 1-.45 1-1v-1",
);
export const ArrowIcon = icon("m6 3.5 4.5 4.5L6 12.5");
export const PlusIcon = icon("M8 3v10M3 8h10");
export const MoreIcon = () => (
  <Icon>
    <path d="M3 8h.01M8 8h.01M13 8h.01" stroke-width="2.5" />
  </Icon>
);
