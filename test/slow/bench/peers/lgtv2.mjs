// A script with lgtv2, as its README has it: presses home for MS milliseconds, each key followed by a question that is
// answered, since the remote's own socket answers nothing. HOST PORT MS: the milliseconds that a key took.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import LGTV from "lgtv2";

const [host, port, ms] = process.argv.slice(2);
const keyFile = join(mkdtempSync(join(tmpdir(), "zapd-lgtv2-")), "key");
const lgtv = new LGTV({ url: `ws://${host}:${port}`, keyFile, reconnect: false });

lgtv.on("error", (error) => {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
});
lgtv.on("connect", async () => {
  const ask = (uri) =>
    new Promise((resolve, reject) => lgtv.request(uri, (error, answer) => (error ? reject(error) : resolve(answer))));
  const remote = await new Promise((resolve, reject) =>
    lgtv.getSocket("ssap://com.webos.service.networkinput/getPointerInputSocket", (error, socket) =>
      error ? reject(error) : resolve(socket),
    ),
  );
  const began = performance.now();
  let done = 0;
  while (performance.now() - began < Number(ms)) {
    remote.send("button", { name: "HOME" });
    await ask("ssap://audio/getVolume");
    done++;
  }
  process.stdout.write(JSON.stringify({ ms_per_key: (performance.now() - began) / done }), () => process.exit(0));
});
