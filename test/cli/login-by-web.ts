/** `portico login --web`, with a person who consents in a browser. */
import { run } from "../../cli/program.js";
import { consent, type Door } from "../oauth/browser.js";
import { until } from "../support/until.js";
import { ioOf, type Outcome } from "./command-line.js";

/** What a test does between the address that the command prints and the end of the login. */
export type InBrowser = (url: string) => Promise<unknown>;

/**
 * Runs the command until it has logged in.
 * @param env has the folder of the profile
 */
export async function loginByWeb(
  door: Pick<Door, "url">,
  env: NodeJS.ProcessEnv,
  inBrowser: InBrowser = async (url) => fetch(await consent(door, url)),
): Promise<Outcome> {
  const { io, outcome } = ioOf({ env: { PORTICO_URL: door.url, BROWSER: "true", ...env } });
  let printed = "";
  io.stderr.on("data", (text) => {
    printed += text;
  });
  const running = run(["login", "--web"], io);
  const shown = (): string | undefined => /http:\S+authorize\S+/.exec(printed)?.[0];
  await until(() => shown() !== undefined, { what: () => `an address in: ${printed}`, within: 10_000 });
  await inBrowser(shown() as string);
  return { ...outcome(await running), stderr: printed };
}
