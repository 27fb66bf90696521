import { afterAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Keys, RokuClient } from "roku-client";
import { rokuDeploy } from "roku-deploy";
import type { RokuSimulator } from "../../src/simulators/roku.ts";
import { until } from "../support/http-device.ts";
import { packageOf, plugInRoku as plugIn } from "../support/sets.ts";

// Third-party clients work with the simulator.

describe("npm roku-client", () => {
  const clientOf = (simulator: RokuSimulator) => new RokuClient(`http://${simulator.host}:${simulator.port}`);

  test("reads the set", async () => {
    const simulator = await plugIn({ name: "Ann's TV" });
    const client = clientOf(simulator);
    expect(await client.info()).toMatchObject({
      userDeviceName: "Ann's TV",
      serialNumber: simulator.serial,
      isTv: true,
    });
    expect(await client.apps()).toContainEqual({
      id: "41468",
      type: "appl",
      version: "4.2.0",
      name: "Tubi - Free Movies & TV",
    });
    expect(await client.active()).toBeNull();
    const { type, extension, response } = await client.icon("12");
    expect([type, extension]).toEqual(["image/png", ".png"]);
    expect(
      Buffer.from(await response.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
  });

  test("presses, types, launches and reads the player", async () => {
    const simulator = await plugIn();
    const client = clientOf(simulator);
    await client.keypress(Keys.HOME);
    await client.keydown(Keys.UP);
    await client.keyup(Keys.UP);
    await client.text("Breaking é€/+");
    await client.command().volumeUp(3).select().send();
    expect(simulator.keys).toEqual(["Home", "Up", "VolumeUp", "VolumeUp", "VolumeUp", "Select"]);
    expect(simulator.text).toBe("Breaking é€/+");
    // It takes a character of two UTF-16 units for the name of a key; 1.8 says to count code points.
    await expect(client.text("😀")).rejects.toThrow("Bad Request");
    await client.launch("837");
    expect(await client.active()).toEqual({ id: "837", type: "appl", version: "3.11.40", name: "YouTube" });
    simulator.play({ durationMs: 60_000 });
    expect(await client.mediaPlayer()).toMatchObject({ state: "play", duration: "60000 ms", plugin: { id: "837" } });
    await client.launchDtv("5.1");
    expect(simulator.state).toMatchObject({ input: "tvinput.dtv", channel: "5.1" });
    await expect(client.launch("999999")).rejects.toThrow("Not Found");
    await expect(client.keypress("Nonsense")).rejects.toThrow("Bad Request");
  });

  // Its node-ssdp asks on every interface but loopback. For the time of the search, loopback is shown to it as
  // an ordinary one and its sockets are told to send there; the datagrams and their reading are its own.
  test("finds the set", async () => {
    const simulator = await plugIn({ ssdp: true, name: "Found by npm" });
    const restore = showLoopback();
    try {
      const found = await RokuClient.discoverAll(1200);
      expect(found.map(({ ip }) => String(ip))).toContain(`http://${simulator.host}:${simulator.port}/`);
    } finally {
      restore();
    }
  });
});

function showLoopback(): () => void {
  const require = createRequire(import.meta.url);
  const os: typeof import("node:os") = require("node:os");
  const dgram: typeof import("node:dgram") = require("node:dgram");
  const { networkInterfaces } = os;
  const { createSocket } = dgram;
  const lo = {
    address: "127.0.0.1",
    netmask: "255.0.0.0",
    family: "IPv4",
    mac: "",
    internal: false,
    cidr: null,
  } as const;
  // A new one each time: npm ip, under it, rewrites what it is given.
  os.networkInterfaces = () => ({ lo: [{ ...lo }] });
  dgram.createSocket = ((...given: Parameters<typeof createSocket>) => {
    const socket = createSocket(...given);
    return socket.on("listening", () => socket.setMulticastInterface("127.0.0.1"));
  }) as typeof createSocket;
  return () => {
    os.networkInterfaces = networkInterfaces;
    dgram.createSocket = createSocket;
  };
}

describe("npm roku-deploy", () => {
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

  async function optionsFor(simulator: RokuSimulator, zip = packageOf()) {
    const outDir = await mkdtemp(join(tmpdir(), "zapd-roku-deploy-"));
    folders.push(outDir);
    await writeFile(join(outDir, "app.zip"), zip);
    const { host, port: remotePort, ports } = simulator;
    const packagePort = ports.installer ?? 0;
    return { host, remotePort, packagePort, password: "1234", outDir, outFile: "app.zip", timeout: 5000 };
  }

  const developerSet = (archiveOptional?: boolean) =>
    plugIn({ developer: { password: "1234", ...(archiveOptional !== undefined && { archiveOptional }) } });

  test("reads device-info, and knows a set that is disabled by its Server header", async () => {
    const simulator = await developerSet();
    const options = await optionsFor(simulator);
    expect(await rokuDeploy.getDeviceInfo({ ...options, enhance: true })).toMatchObject({
      isTv: true,
      serialNumber: simulator.serial,
      ecpSettingMode: "enabled",
      developerEnabled: true,
    });
    expect(await rokuDeploy.getDevId(options)).toMatch(/^[0-9a-f]{40}$/);
    // Its getEcpNetworkAccessMode loses the answer on the way; what it builds on recognises the mode.
    simulator.setAccess("disabled");
    await expect(rokuDeploy.getDeviceInfo(options)).rejects.toThrow("ecp-setting-mode is 'disabled'");
  });

  test("checks the password", async () => {
    const simulator = await developerSet();
    const { host, packagePort: port } = await optionsFor(simulator);
    expect(await rokuDeploy.validateDeveloperPassword({ host, port, password: "1234" })).toBe(true);
    expect(await rokuDeploy.validateDeveloperPassword({ host, port, password: "4321" })).toBe(false);
  });

  test("sideloads, and sends the package only once it may", async () => {
    const simulator = await developerSet();
    const options = await optionsFor(simulator);
    expect((await rokuDeploy.publish(options)).message).toBe("Successful deploy");
    await until("the app runs", () => simulator.state.activeApp === "dev");
    expect(simulator.requests.map(({ method, status }) => [method, status])).toEqual([
      ["POST", 401],
      ["POST", 200],
    ]);
    expect(simulator.requests[0]?.bytes).toBe(0);
    expect((await rokuDeploy.publish(options)).message).toStartWith("Identical to previous version");
    expect(await rokuDeploy.listSideloadedPlugins(options)).toMatchObject([
      { appType: "channel", archiveFileName: "app.zip" },
    ]);
  });

  test("sideloads several megabytes", async () => {
    const simulator = await developerSet();
    const noise = Array.from({ length: 200_000 }, () => crypto.randomUUID()).join("");
    const options = await optionsFor(simulator, packageOf({ "images/noise.bin": noise }));
    expect((await rokuDeploy.publish(options)).message).toBe("Successful deploy");
  });

  test("does not start it when told not to", async () => {
    const simulator = await developerSet();
    await rokuDeploy.publish({ ...(await optionsFor(simulator)), autoLaunch: false });
    expect(simulator.state).toMatchObject({ activeApp: null, sideloaded: { title: "Hello" } });
  });

  test("knows a wrong password, a compile error, a small zip, an update that is due, a reset", async () => {
    const simulator = await developerSet();
    const options = await optionsFor(simulator);
    await expect(rokuDeploy.publish({ ...options, password: "4321" })).rejects.toThrow("Unauthorized");
    const broken = await optionsFor(simulator, packageOf({ "source/main.brs": "#compile-error" }));
    await expect(rokuDeploy.publish(broken)).rejects.toThrow("Compile error");
    const small = await optionsFor(simulator, new Uint8Array(300));
    await expect(rokuDeploy.publish(small)).rejects.toThrow("zips smaller than 512 bytes often cause this");
    for (const fault of ["update-required", "update-page"] as const) {
      simulator.installFault(fault);
      await expect(rokuDeploy.publish(options)).rejects.toThrow("check for updates");
    }
    simulator.installFault("reset");
    await expect(rokuDeploy.publish(options)).rejects.toThrow();
  });

  // 3.18.2 leaves empty fields out of a form, and with them the empty `archive` that a Delete should carry (2.1).
  test("its delete works, and is refused only by a set that requires the field", async () => {
    const strict = await developerSet(false);
    const options = await optionsFor(strict);
    await rokuDeploy.publish(options);
    await expect(rokuDeploy.deleteInstalledChannel(options)).rejects.toThrow('"archive" Field Not Found');

    const lenient = await developerSet();
    const others = await optionsFor(lenient);
    await rokuDeploy.publish(others);
    await rokuDeploy.deleteInstalledChannel(others);
    expect(lenient.state.sideloaded).toBeNull();
    await expect(rokuDeploy.deleteInstalledChannel(others)).rejects.toThrow(
      "Delete Failed: No such file or directory.",
    );
  });

  test("takes a screenshot and presses home", async () => {
    const simulator = await developerSet();
    const options = await optionsFor(simulator);
    await rokuDeploy.publish(options);
    expect(await rokuDeploy.takeScreenshot({ ...options, outFile: "shot" })).toEndWith("shot.png");
    await rokuDeploy.pressHomeButton(options.host, options.remotePort);
    expect(simulator.state.activeApp).toBeNull();
  });
});
