/** Events of UPnP, as a device sends them. */
import net from "node:net";

/** A call as a device makes it; what is answered, or an empty text where nothing is. */
export function notify(
  to: URL,
  headers: Record<string, string>,
  { from = "127.0.0.1", body = "<x/>", method = "NOTIFY", path = to.pathname } = {},
): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect({ host: to.hostname, port: Number(to.port), localAddress: from });
    let said = "";
    const lines = Object.entries({ NT: "upnp:event", NTS: "upnp:propchange", ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.on("connect", () =>
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHOST: x\r\n${lines.join("")}CONTENT-LENGTH: ${body.length}\r\n\r\n${body}`,
      ),
    );
    socket.on("data", (bytes) => {
      said += bytes.toString();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(said.split("\r\n")[0] ?? ""));
  });
}
