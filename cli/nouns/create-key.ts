/** `portico auth create key`. */
import { type Command, Option } from "commander";
import { connect, dataCommand } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { collect, duration } from "../terminal/options.js";
import { instant } from "../terminal/output.js";
import { printSecret } from "./secret.js";
import { warnUnserved } from "./served.js";

export interface CreatedKey {
  readonly secret: string;
  readonly key: { readonly expires: string };
}

interface Options {
  readonly lifetime?: string;
  readonly resource?: readonly string[];
}

export function createKey(io: Io): Command {
  const command = dataCommand("key <name>", "create an API key of yours; prints it once", [
    new Option("--lifetime <time>", "1d to 365d (default 90d)").argParser(duration),
    new Option("--resource <pattern>", "limit it to what matches; again for more").argParser(collect),
  ]);
  examples(
    command,
    "portico auth create key ci",
    "portico auth create key ci --lifetime=30d --resource='service:helloworld:*'",
    "KEY=$(portico auth create key ci)",
  );
  return command.action(async (name: string, { lifetime, resource }: Options) => {
    const { client, output } = connect(io, command);
    const answer = await client.authority<CreatedKey>("Keys/Create", { name, lifetime, resources: resource });
    const talk = `This key is good until ${instant(answer.key.expires)}.`;
    await printSecret(io, output, answer, answer.secret, talk);
    await warnUnserved(io, client, resource ?? []);
  });
}
