// The page of the help desk. It shows the tickets live, using the client that `portico client
// tickets` writes.
import { Portico as Services } from "portico/client";
import { Portico, PorticoError, type Ticket } from "./tickets.js";

/** The address of the gateway. Default: the page's own origin. */
const url = document.body.dataset.portico;
/** The elements of the list, by the numbers of their tickets. */
const shown = new Map<number, HTMLLIElement>();
/**
 * A client with the token of the signed-in account. The token is in memory only, so a reload signs
 * out.
 */
let portico: Portico;

function find(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Runs an action of the user, and shows its error if it fails. */
async function attempt(action: () => Promise<unknown>): Promise<void> {
  find("error").textContent = "";
  await action().catch((error: Error) => {
    find("error").textContent = "Detail" in error ? `${error.Detail}` : error.message;
  });
}

function onSubmit(id: string, action: (fields: Record<string, string>) => Promise<unknown>): void {
  const form = find(id) as HTMLFormElement;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form)) as Record<string, string>;
    void attempt(() => action(fields).then(() => form.reset()));
  });
}

onSubmit("sign-in", async ({ account = "", password = "" }) => {
  const { accessToken } = await new Services({ url, token: "" }).auth.login({ account, password });
  portico = new Portico({ url, token: accessToken });
  showMain(true);
  find("sign-out").onclick = () =>
    attempt(() => new Services({ url, token: accessToken }).auth.logout({}).then(() => location.reload()));
  void attempt(watch);
});

onSubmit("new-ticket", ({ title = "" }) => portico.tickets.create({ title }));

/** Shows all tickets, and then each change, until the account may not see them any more. */
async function watch(): Promise<void> {
  for (;;) {
    try {
      for await (const ticket of portico.tickets.watch({})) show(ticket);
    } catch (error) {
      if (!(error instanceof PorticoError) || error.Code === 401 || error.Code === 403) {
        showMain(false);
        throw error;
      }
    }
    // The connection was lost, or the service is restarting.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

function show({ number, title, author, closed }: Ticket): void {
  const close = document.createElement("button");
  close.textContent = "Close";
  close.hidden = closed;
  close.onclick = () => attempt(() => portico.tickets.close({ number }));
  const text = document.createElement(closed ? "s" : "span");
  text.textContent = `${number}. ${title} (${author || "anonymous"}) `;
  const item = shown.get(number) ?? document.createElement("li");
  item.replaceChildren(text, close);
  if (!shown.has(number)) find("tickets").prepend(item);
  shown.set(number, item);
}

function showMain(signedIn: boolean): void {
  find("sign-in").hidden = signedIn;
  find("main").hidden = !signedIn;
}
