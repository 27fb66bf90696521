/** Reads a value that should stand neither on the screen nor among the words of a command, where every user can see it. */

/** A line typed without echo on a terminal, or what a pipe holds. */
export async function readUnseen(what: string): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true) return (await all(stdin)).replace(/\r?\n$/, "");
  // Before it is asked for: who types at once must not see it either.
  stdin.setRawMode(true);
  try {
    const line = typedLine(stdin);
    stderr.write(`${what}: `);
    return await line;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

async function all(stdin: NodeJS.ReadStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stdin) parts.push(part as Uint8Array);
  return Buffer.concat(parts).toString("utf8");
}

const keys = { enter: /[\r\n\x04]/, cancel: "\x03", erase: /[\x7f\b]/, eraseAll: "\x15" } as const;

function typedLine(stdin: NodeJS.ReadStream): Promise<string> {
  return new Promise((resolve) => {
    let typed: string[] = [];
    const onData = (bytes: Buffer) => {
      for (const character of bytes.toString("utf8")) {
        if (character === keys.cancel) {
          stdin.setRawMode(false);
          process.kill(process.pid, "SIGINT");
        } else if (keys.enter.test(character)) {
          stdin.off("data", onData);
          return resolve(typed.join(""));
        } else if (character === keys.eraseAll) typed = [];
        else if (keys.erase.test(character)) typed.pop();
        else typed.push(character);
      }
    };
    stdin.on("data", onData);
  });
}
