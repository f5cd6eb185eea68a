/** A page of the gateway whose person signs in by an issuer: its key, and its browser. */
import { browserKey, type Replied, SessionPage } from "../gateway/page-session.js";
import type { Door } from "./browser.js";
import { Browser, type Page, PUBLIC, signInThere } from "./people.js";

export class LeavingPage extends SessionPage {
  readonly browser: Browser;

  static async at(door: Door, browser = new Browser(door)): Promise<LeavingPage> {
    return new LeavingPage(door, await browserKey(), browser);
  }

  private constructor(door: Door, key: Awaited<ReturnType<typeof browserKey>>, browser: Browser) {
    super(door.url, key);
    this.browser = browser;
    this.headers = { origin: PUBLIC };
  }

  /** Asks to leave for an issuer. */
  async begin(issuer = "company"): Promise<Replied> {
    const begun = await this.post("/session/begin", { body: { issuer, key: this.key.spki.toString("base64url") } });
    this.browser.take(PUBLIC, begun.headers);
    return begun;
  }

  /** Leaves, signs in there, and comes back to the gateway. */
  async signInAt(sub = "ann1"): Promise<Page> {
    return signInThere(this.browser, (await this.begin()).body.location ?? "", sub);
  }

  /** What the page does when it is back: takes the session by its key, and keeps the cookie. */
  async arrive(): Promise<Replied> {
    this.cookie = this.browser.cookieFor(`${PUBLIC}/session`);
    const { challenge = "", installation = "" } = (await this.post("/session/challenge", { body: { arriving: true } }))
      .body;
    const arrived = await this.post("/session/arrive", { body: await this.sign(installation, challenge) });
    this.browser.take(PUBLIC, arrived.headers);
    this.cookie = this.browser.cookieFor(`${PUBLIC}/session`);
    return arrived;
  }
}
