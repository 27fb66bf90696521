/**
 * The two streams of a command, made when something is first written: making them takes as long as a key press over the
 * socket, and a key press writes nothing.
 */

const heeded = new WeakSet<NodeJS.WriteStream>();

/** Data. */
export function stdout(): NodeJS.WriteStream {
  return heed(process.stdout);
}

/** Talk. */
export function stderr(): NodeJS.WriteStream {
  return heed(process.stderr);
}

/** The log of a daemon, which goes on when whoever read it has gone. */
export function logStream(): NodeJS.WriteStream {
  const stream = process.stderr;
  if (!heeded.has(stream)) stream.on("error", () => {});
  heeded.add(stream);
  return stream;
}

/** Who reads no further (`zapd devices | head -1`) has what they wanted. */
function heed(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (heeded.has(stream)) return stream;
  heeded.add(stream);
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
  return stream;
}
