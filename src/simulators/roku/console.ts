import type { Socket } from "node:net";
import type { ConsoleBuffer } from "./console-buffer.ts";

const CTRL_C = 0x03;
/** A client that never reads is cut off. */
const UNREAD_LIMIT = 4 * 1024 * 1024;

/** The BrightScript console (2.2): one client, the buffer replayed without a greeting, CRLF lines. */
export function createConsole(buffer: ConsoleBuffer): (socket: Socket) => void {
  let client: Socket | null = null;
  return (socket) => {
    if (client !== null) {
      socket.end("Console connection is already in use.\r\n");
      return;
    }
    client = socket;
    const stop = buffer.listen((line) => {
      if (socket.writableLength > UNREAD_LIMIT) socket.destroy();
      else socket.write(`${line}\r\n`);
    });
    socket.on("close", () => {
      stop();
      if (client === socket) client = null;
    });
    // Ctrl-C breaks into the debugger; anything else is ignored while the app runs.
    socket.on("data", (chunk: Uint8Array) => {
      if (chunk.includes(CTRL_C)) socket.write("\r\nBrightScript Debugger> ");
    });
    if (buffer.lines.length > 0) socket.write(buffer.lines.map((line) => `${line}\r\n`).join(""));
  };
}
