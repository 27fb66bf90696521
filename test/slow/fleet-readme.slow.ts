/** The Mosquitto for many sites of src/mqtt/README.md, set up as it says there: who may do what. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRokuSimulator, type RokuSimulator } from "../../src/simulators/roku.ts";
import { type Ended, runZapd } from "../cli/program.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { testFolder } from "../support/folder.ts";
import { until } from "../support/http-device.ts";
import { Mosquitto, noMosquitto } from "../support/mosquitto.ts";
import { root } from "../support/sources.ts";

const page = readFileSync(join(root, "src/mqtt/README.md"), "utf8");
function block(language: string, holds: string): string {
  const found = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].find(
    ([, its, text = ""]) => its === language && text.includes(holds),
  );
  if (!found?.[2]) throw new Error(`the page has no ${language} with ${holds}`);
  return found[2];
}
const missing = noMosquitto ?? (Bun.which("openssl") === null ? "there is no openssl" : null);

describe.skipIf(missing !== null)(`the set-up of the page${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  const certs = testFolder();
  let broker: Mosquitto;
  let daemon: TestDaemon;
  let set: RokuSimulator;

  beforeAll(async () => {
    const script = block("sh", "sign broker").replaceAll("broker.lan", "localhost");
    execFileSync("sh", ["-ec", script], { cwd: certs, stdio: "ignore" });
    writeFileSync(join(certs, "zapd.acl"), block("acl", "pattern"));
    const conf = block("conf", "listener")
      .replace(/^listener .*\n/, "")
      .replaceAll("/etc/mosquitto/certs", certs)
      .replaceAll("/etc/mosquitto", certs);
    broker = await Mosquitto.start(() => conf.trim().split("\n"), []);
    // What the line for a site says, in its config.
    const line = block("sh", "mqtt.site lab2").trim().split(" ").slice(3);
    const pairs = line.flatMap((word, at) => (at % 2 === 0 ? [[word.replace("mqtt.", ""), line[at + 1] ?? ""]] : []));
    const mqtt = {
      ...Object.fromEntries(pairs.map(([key, value = ""]) => [key, value.replace("/etc/zapd", certs)])),
      url: `mqtts://localhost:${broker.port}`,
      site_labels: ["room=lab2"],
      home_assistant: true,
    };
    daemon = await startTestDaemon({ config: { mqtt, discovery: { interfaces: ["none"] } } });
    set = createRokuSimulator({ name: "Den", serial: "X0FLEETREADME", kind: "tv", ssdp: false, launchMs: 0 });
    await set.start();
    await daemon.api("POST", "/devices", { host: set.host, port: set.port, name: "Den" });
  }, 60_000);

  afterAll(async () => {
    await daemon.dispose();
    await set.stop();
    await broker.dispose();
  });

  function as(who: string, ...words: readonly string[]): Promise<Ended> {
    const env = { PATH: process.env["PATH"], HOME: certs, NO_COLOR: "1" };
    const own = ["--ca", "ca.crt", "--cert", `${who}.crt`, "--key", `${who}.key`];
    const url = `mqtts://localhost:${broker.port}`;
    return runZapd(["fleet", ...words, "--broker", url, ...own], { env, cwd: certs });
  }
  /** What a client of the broker publishes, with a certificate of its own. */
  function says(who: string, topic: string, text: string, ...more: readonly string[]): void {
    const own = ["--cafile", `${certs}/ca.crt`, "--cert", `${certs}/${who}.crt`, "--key", `${certs}/${who}.key`];
    const words = ["-h", "localhost", "-p", `${broker.port}`, ...own, "-V", "5", "-q", "1", "-t", topic, "-m", text];
    Bun.spawnSync(["mosquitto_pub", ...words, ...more]);
  }

  test("whoever drives the sites sees them, and presses keys", async () => {
    await until("the set is kept", async () => (await as("fleet", "ls")).stdout.includes("Den"), 20_000);
    const pressed = await as("fleet", "key", "home", "--label", "room=lab2");
    expect([pressed.stdout, pressed.status]).toEqual(["lab2/Den: ok\n", 0]);
    expect(set.keys).toEqual(["Home"]);
  });

  test("Home Assistant learns of the set, and drives it by its own topics", async () => {
    const { body } = await daemon.api("GET", "/devices");
    says("homeassistant", `zapd/1/lab2/devices/${body.data[0].id}/set/key`, "back");
    await until("the key is there", () => set.keys.at(-1) === "Back", 20_000);
  });

  test("a site writes nothing of another's, and a stranger is not let in", async () => {
    const before = set.keys.length;
    execFileSync(
      "sh",
      [
        "-ec",
        `${block("sh", "sign broker").split("sign broker")[0]?.split("\n").slice(1).join("\n")}\nsign bar extendedKeyUsage=clientAuth`,
      ],
      { cwd: certs, stdio: "ignore" },
    );
    const call = JSON.stringify({ op: "press_key", args: { key: "home" } });
    says("bar", "zapd/1/lab2/rpc", call);
    says("bar", "zapd/1/lab2/status", '{"online":false}', "-r");
    says("bar", "zapd/1/bar/status", '{"online":true}', "-r");
    // What is asked after it has come.
    const { stdout } = await as("fleet", "ls", "--json");
    expect(JSON.parse(stdout).data.sites).toMatchObject([
      { site: "bar", online: true },
      { site: "lab2", online: true },
    ]);
    expect(set.keys).toHaveLength(before);
    const url = `mqtts://localhost:${broker.port}`;
    const env = { PATH: process.env["PATH"], HOME: certs };
    const stranger = await runZapd(["fleet", "ls", "--broker", url, "--ca", "ca.crt"], { env, cwd: certs });
    expect([stranger.status, stranger.stderr]).toEqual([4, expect.stringContaining("certificate")]);
  });
});
