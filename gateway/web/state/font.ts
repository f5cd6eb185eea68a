/**
 * When the web font is loaded: after the first data, because on a slow link the two would share the
 * bandwidth. Until then, styles/fonts.css gives local fonts the width of the web font.
 */
import { requestsEnd } from "../http.js";

/** Must be called when the page is drawn and has sent its requests. */
export async function loadFont(): Promise<void> {
  await requestsEnd();
  document.documentElement.dataset.font = "web";
}
