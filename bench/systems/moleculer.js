// A Moleculer node: `gateway` with moleculer-web, or `service`. Each knows the other's address, so
// nothing is broadcast.
import moleculer from "moleculer";
import ApiService from "moleculer-web";

const [role, tcpPort, peer, httpPort] = process.argv.slice(2);
const broker = new moleculer.ServiceBroker({
  nodeID: role,
  logger: false,
  transporter: { type: "TCP", options: { port: Number(tcpPort), udpDiscovery: false, urls: [peer] } },
});

const gateway = {
  name: "api",
  mixins: [ApiService],
  settings: {
    ip: "127.0.0.1",
    port: Number(httpPort),
    routes: [
      {
        path: "/v1",
        aliases: { "POST helloworld/call": "helloworld.call" },
        bodyParsers: { json: { limit: "4MB" } },
      },
    ],
  },
};

const service = {
  name: "helloworld",
  actions: {
    call(context) {
      const greeting = `Hello ${context.params.name}`;
      return { message: greeting, msg: greeting };
    },
  },
};

broker.createService(role === "gateway" ? gateway : service);
await broker.start();
