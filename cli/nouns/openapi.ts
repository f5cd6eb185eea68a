/** `portico openapi`: a service's OpenAPI document, as the gateway serves it to the caller. */
import type { Command } from "commander";
import { clientCommand, connect } from "../http/connection.js";
import { examples } from "../terminal/command.js";
import type { Io } from "../terminal/io.js";
import { outputOption, printAnswer } from "../terminal/output.js";

export function openapi(io: Io): Command {
  const command = clientCommand("openapi <service>", "print a service's OpenAPI document", [
    outputOption(["json", "yaml"]),
  ]);
  examples(command, "portico openapi helloworld > helloworld.json", "portico openapi helloworld -o yaml");
  return command.action(async (service: string) => {
    const { client, output } = connect(io, command);
    const served = await client.query("openapi", `${service}.json`);
    // Whoever reads the file does not know where it was got from.
    const json = served.replace('"servers":[{"url":"/"}]', `"servers":[{"url":${JSON.stringify(client.address)}}]`);
    if (output !== "yaml") return printAnswer(io, output, json);
    const { jsonToYaml } = await import("../terminal/yaml.js");
    io.stdout.write(jsonToYaml(json));
  });
}
