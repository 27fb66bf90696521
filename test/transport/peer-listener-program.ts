/** A listener for one peer, as a process of its own, so that it runs under each runtime. Says its URL, then ends with its input. */
import { setTimeout as wait } from "node:timers/promises";
import { listenToPeer } from "../../src/transport/peer-listener.ts";

const [peer = "127.0.0.1", timeoutMs = "10000"] = process.argv.slice(2);
let answered = 0;
/** How much of the last long body was written before it had to wait. */
let written = 0;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function* manyBytes(count: number) {
  const piece = new Uint8Array(4 * 1024).fill(65);
  for (let left = count; left > 0; left -= piece.length) {
    written = count - left;
    yield piece.subarray(0, left);
  }
}

async function* failing() {
  yield new Uint8Array(100);
  await wait(10);
  throw new Error("the file is gone");
}

const listener = await listenToPeer({
  peer,
  name: "a film & more ü.mp4",
  methods: ["GET", "HEAD", "NOTIFY"],
  maxBodyBytes: 1_000,
  timeoutMs: Number(timeoutMs),
  answer({ method, headers, body }) {
    answered++;
    const wanted = headers["wanted"];
    if (wanted === "throw") throw new Error("it failed");
    if (wanted === "half") return { status: 200, headers: { "content-length": "1000" }, body: failing() };
    if (method === "NOTIFY") {
      const told = Buffer.from(`${headers["sid"]}:${Buffer.from(body).toString("utf8")}`);
      return {
        status: 200,
        headers: { "content-length": `${told.length}` },
        body: (async function* () {
          yield told;
        })(),
      };
    }
    const length = wanted === "written" ? written : Number(wanted ?? 5);
    return { status: 200, headers: { "content-length": `${length}` }, body: manyBytes(length) };
  },
});
say(listener.url);
process.stdin.on("data", () => say(`answered ${answered}`));
process.stdin.on("end", async () => {
  await listener.close();
  say("closed");
});
