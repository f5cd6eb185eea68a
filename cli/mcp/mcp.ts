/**
 * `portico mcp`: the Model Context Protocol on standard input and output, for agents that start a
 * program instead of connecting to an address. Each line is a message. It is forwarded to the
 * gateway's `/mcp` with the login's token. `portico mcp config` prints the configuration for an
 * agent.
 */
import { gatewayCommand } from "../command/command.js";
import { linesOf } from "../http/request.js";
import { inputOf } from "../terminal/input.js";
import type { Io } from "../terminal/io.js";
import { Bridge } from "./bridge.js";

export const mcp = (io: Io) => serveMcp(io).addCommand(config(io));

const serveMcp = gatewayCommand({
  usage: "mcp",
  summary: "offer services to an agent as tools",
  examples: ["portico mcp config            what to write in the agent's settings"],
  formats: [],
  readsInput: true,
  async run({ io, client }) {
    const bridge = new Bridge({
      send: (body, headers, signal) => client.sendMcp(body, headers, signal),
      write: (message) => void io.stdout.write(`${message}\n`),
      signal: io.signal,
    });
    if (io.stdin.isTTY)
      io.stderr.write("An agent starts this command and talks to it. To set one up: portico mcp config\n");
    for await (const line of linesOf(inputOf(io))) if (line.length > 0) await bridge.receive(line.toString());
    await bridge.end();
  },
});

const config = gatewayCommand({
  usage: "config",
  summary: "print the settings that an agent needs",
  examples: ["portico mcp config", "portico mcp config --profile work"],
  formats: [],
  async run({ io, client, stored, profile, namespace }) {
    const where = profile === undefined ? ["--url", client.address] : ["--profile", profile];
    const within = namespace === undefined ? [] : ["--namespace", namespace];
    const server = { command: "portico", args: ["mcp", ...where, ...within] };
    io.stdout.write(`${JSON.stringify({ mcpServers: { portico: server } }, null, 2)}\n`);
    io.stderr.write(
      stored?.login === undefined && !io.env.PORTICO_TOKEN
        ? "The agent calls what everyone may call. To have it call as an account, log in first: portico login\n"
        : "The agent calls with the token of your login. This text holds no secret.\n",
    );
  },
});
