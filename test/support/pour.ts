/** A device that floods: the same bytes again and again, as fast as they are taken. */
import type net from "node:net";

/** Writes a block until the socket ends, or so many times. Others of this process have their turn after each eight blocks. */
export function pour(block: Uint8Array, times = Number.POSITIVE_INFINITY): (socket: net.Socket) => void {
  return (socket) => {
    let left = times;
    const more = () => {
      for (let round = 0; round < 8; round++) {
        if (socket.destroyed || left-- <= 0) return;
        if (!socket.write(block)) return void socket.once("drain", more);
      }
      setImmediate(more);
    };
    more();
  };
}

/** A block that holds the same bytes so many times. */
export const repeated = (count: number, bytes: Uint8Array): Buffer =>
  Buffer.concat(Array<Uint8Array>(count).fill(bytes));
