import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { strToU8, Zip, ZipDeflate, zipSync } from "fflate";
import type { RokuEvent } from "../../src/simulators/roku.ts";
import {
  asDeveloper,
  developerSet,
  door,
  type Field,
  install,
  type Login,
  login,
  messages,
  nonceOf,
  PASSWORD,
  submit,
} from "./roku-developer-harness.ts";
import { ask, get, header, listen, packageOf, plugIn, post, until } from "./roku-harness.ts";

describe("the door of the installer", () => {
  test("is not there without developer mode", async () => {
    expect((await plugIn()).ports).toMatchObject({ installer: null, console: null });
  });

  test("a 401 is a digest challenge with a decimal nonce, and the end of the connection", async () => {
    const reply = await ask(door(await developerSet()), "POST", "/plugin_install", { body: "mysubmit=Install" });
    expect([reply.status, reply.body]).toEqual([401, ""]);
    expect(header(reply, "WWW-Authenticate")).toMatch(/^Digest qop="auth", realm="rokudev", nonce="\d+"$/);
  });

  test("a body sent without credentials is not read: the socket closes under it", async () => {
    const simulator = await developerSet();
    const { host, port } = door(simulator);
    const size = 64 * 1024 * 1024;
    const socket = connect(port, host);
    let closed = false;
    socket.on("error", () => {});
    socket.on("close", () => {
      closed = true;
    });
    socket.write(`POST /plugin_install HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${size}\r\n\r\n`);
    let sent = 0;
    const more = (error?: Error | null) => {
      if (error || closed) return;
      sent += 65_536;
      if (sent < size) socket.write(new Uint8Array(65_536), more);
    };
    more();
    await until("the socket is closed", () => closed);
    expect(sent).toBeLessThan(size);
    expect(simulator.requests.map(({ status, bytes }) => [status, bytes])).toEqual([[401, 0]]);
  });

  test("GET and HEAD tell whether the password is right", async () => {
    const simulator = await developerSet();
    for (const method of ["GET", "HEAD"]) {
      const nonce = await nonceOf(simulator);
      const knock = async (more: Partial<Login>) => {
        const headers = login({ method, uri: "/plugin_install", nonce, ...more });
        return (await ask(door(simulator), method, "/plugin_install", { headers })).status;
      };
      expect(await knock({})).toBe(200);
      expect(await knock({ qop: false })).toBe(200);
      expect(await knock({ password: "wrong" })).toBe(401);
      expect(await knock({ nonce: "123" })).toBe(401);
      expect(await knock({ uri: "/" })).toBe(401);
      expect(await knock({ method: "PUT" })).toBe(401);
    }
  });

  test("the query string belongs to what is signed", async () => {
    const simulator = await developerSet();
    expect((await asDeveloper(simulator, "GET", "/plugin_install?dcl_enabled=1")).status).toBe(200);
    const headers = login({ method: "GET", uri: "/plugin_install", nonce: await nonceOf(simulator) });
    expect((await ask(door(simulator), "GET", "/plugin_install?dcl_enabled=1", { headers })).status).toBe(401);
    expect((await asDeveloper(simulator, "GET", "/nowhere")).status).toBe(404);
  });
});

describe("installing", () => {
  test("a package is stored, listed, started and told of on the console", async () => {
    const events: RokuEvent[] = [];
    const simulator = await developerSet({ onEvent: (event) => events.push(event) });
    const zip = packageOf();
    const reply = await install(simulator, zip);
    expect(reply.status).toBe(200);
    expect(messages(reply)).toEqual([
      `success: Application Received: ${zip.length} bytes stored.`,
      "success: Install Success.",
    ]);
    expect(reply.body).toContain("Shell.create('Roku.Message').trigger('Set message type', 'success')");
    expect(simulator.state).toMatchObject({ activeApp: "dev", sideloaded: { title: "Hello", version: "1.0.1" } });
    expect((await get(simulator, "/query/apps")).body).toContain(
      '<app id="dev" type="appl" version="1.0.1">Hello</app>',
    );
    expect(events.map(({ text }) => text)).toContain('installed "Hello" 1.0.1');
    const lines = listen(simulator.host, simulator.ports.console ?? 0);
    await until("the run is replayed", () => lines.text().includes("------ Running dev 'Hello' main ------\r\n"));
    expect(lines.text()).toMatch(/^\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \[beacon\.signal\] \|AppLaunchInitiate/);
    expect(lines.text()).toContain("------ Compiling dev 'Hello' ------\r\n");
    lines.socket.destroy();
  });

  test("dev_autolaunch=0 only stores it", async () => {
    const simulator = await developerSet();
    await install(simulator, packageOf(), ["dev_autolaunch", "0"]);
    expect(simulator.state.activeApp).toBeNull();
    expect((await post(simulator, "/launch/dev?contentId=7")).status).toBe(200);
    expect(simulator.state).toMatchObject({ activeApp: "dev", lastLaunch: { id: "dev", params: { contentId: "7" } } });
    expect((await get(simulator, "/query/registry/dev")).body).toContain("<plugin-registry>");
  });

  test("the same bytes again are not replaced and nothing restarts", async () => {
    const simulator = await developerSet();
    await install(simulator, packageOf());
    await post(simulator, "/keypress/Home");
    expect(messages(await install(simulator, packageOf()))).toEqual([
      "info: Application Received: Identical to previous version -- not replacing.",
    ]);
    expect(simulator.state.activeApp).toBeNull();
    await install(simulator, packageOf({ manifest: 'title=It\'s "new"\nmajor_version=2' }));
    expect(simulator.state).toMatchObject({ activeApp: "dev", sideloaded: { title: 'It\'s "new"', version: "2.0.0" } });
  });

  const whole = packageOf();
  const REFUSED: Record<string, [Uint8Array, string]> = {
    "under 512 bytes": [
      zipSync({ manifest: strToU8("title=Tiny") }),
      "Install Failure: Unzip failed. Invalid or corrupt zip archive.  Unloading.",
    ],
    "no zip": [randomBytes(4000), "Install Failure: Unzip failed. Invalid or corrupt zip archive.  Unloading."],
    "half a zip": [
      whole.subarray(0, whole.length / 2),
      "Install Failure: Unzip failed. Invalid or corrupt zip archive.  Unloading.",
    ],
    "no manifest": [packageOf({ manifest: "" }), "Install Failure: No manifest. Invalid package."],
    "everything in a folder": [
      zipSync({ app: { manifest: strToU8("title=Deep"), "noise.bin": new Uint8Array(randomBytes(600)) } }),
      "Install Failure: No manifest. Invalid package.",
    ],
  };
  for (const [name, [zip, text]] of Object.entries(REFUSED)) {
    test(`${name}: 200, and the page says why not`, async () => {
      const simulator = await developerSet();
      const reply = await install(simulator, zip);
      expect([reply.status, messages(reply)?.at(-1)]).toEqual([200, `error: ${text}`]);
      expect(simulator.state.sideloaded).toBeNull();
    });
  }

  test("a compile error is on the page and, with its line, on the console", async () => {
    const simulator = await developerSet();
    await install(simulator, packageOf());
    const broken = packageOf({ "source/lib/broken.brs": "sub a()\nend sub\n#compile-error\n" });
    expect(messages(await install(simulator, broken))?.at(-1)).toBe("error: Install Failure: Compilation Failed.");
    expect(simulator.state.sideloaded?.title).toBe("Hello");
    const lines = listen(simulator.host, simulator.ports.console ?? 0);
    await until("the error is replayed", () => lines.text().includes("-------> Compilation Failed.\r\n"));
    expect(lines.text()).toContain("Syntax Error. (compile error &h02) in pkg:/source/lib/broken.brs(3)\r\n");
    lines.socket.destroy();
  });

  test("faults: a set that wants to phone home, a corrupt answer, a reset", async () => {
    const simulator = await developerSet();
    simulator.installFault("update-required");
    expect((await install(simulator, packageOf())).status).toBe(577);
    simulator.installFault("update-page");
    expect((await install(simulator, packageOf())).body).toContain("Failed to check for software update");
    simulator.installFault("bad-zip");
    expect(messages(await install(simulator, packageOf()))?.at(-1)).toContain("Invalid or corrupt zip archive");
    simulator.installFault("compile");
    expect(messages(await install(simulator, packageOf()))?.at(-1)).toContain("Compilation Failed");
    simulator.installFault("reset");
    await expect(install(simulator, packageOf())).rejects.toThrow();
    simulator.installFault(null);
    expect(messages(await install(simulator, packageOf()))?.at(-1)).toBe("success: Install Success.");
  });

  test("a form without its archive is refused, on a strict set Delete included; an empty field is enough there", async () => {
    const simulator = await developerSet({ developer: { password: PASSWORD, archiveOptional: false } });
    const missing = ['error: Failure: Form Error: "archive" Field Not Found'];
    expect(messages(await submit(simulator, [["mysubmit", "Install"]]))).toEqual(missing);
    expect(messages(await submit(simulator, [["mysubmit", "Delete"]]))).toEqual(missing);
    const empty: Field[] = [
      ["mysubmit", "Delete"],
      ["archive", ""],
    ];
    expect(messages(await submit(simulator, empty))).toEqual(["error: Delete Failed: No such file or directory."]);
    await install(simulator, packageOf());
    expect(messages(await submit(simulator, empty))).toEqual([
      "success: Delete Succeeded.",
      "success: Uninstall Success.",
    ]);
    expect(simulator.state).toMatchObject({ sideloaded: null, activeApp: null });
    expect((await get(simulator, "/query/apps")).body).not.toContain('"dev"');
  });

  test("conversion and screenshots", async () => {
    const simulator = await developerSet();
    await install(simulator, packageOf());
    const convert: Field[] = [
      ["mysubmit", "Convert to squashfs"],
      ["archive", ""],
    ];
    expect(messages(await submit(simulator, convert))).toEqual(["success: Conversion succeeded"]);
    expect(simulator.state.sideloaded?.fileType).toBe("squashfs");
    const shot: Field[] = [
      ["mysubmit", "Screenshot"],
      ["archive", ""],
    ];
    const reply = await submit(simulator, shot, "/plugin_inspect");
    const [, path = ""] = /"(pkgs\/dev\.png\?[^"]+)"/.exec(reply.body) ?? [];
    expect(header(await asDeveloper(simulator, "GET", `/${path}`), "Content-Type")).toBe("image/png");
    await post(simulator, "/keypress/Home");
    expect(messages(await submit(simulator, shot, "/plugin_inspect"))?.[0]).toStartWith("error: ");
  });

  test("a package that was zipped as a stream, sizes after the content", async () => {
    const simulator = await developerSet();
    const pieces: Uint8Array[] = [];
    const zip = new Zip((_error, piece) => pieces.push(piece));
    for (const [path, text] of [
      ["images/noise.bin", randomBytes(3000).toString("hex")],
      ["manifest", "title=Streamed"],
    ] as const) {
      const file = new ZipDeflate(path);
      zip.add(file);
      file.push(strToU8(text), true);
    }
    zip.end();
    expect(messages(await install(simulator, Buffer.concat(pieces)))?.at(-1)).toBe("success: Install Success.");
    expect(simulator.state.sideloaded?.title).toBe("Streamed");
  });

  test("a large package goes through without being kept", async () => {
    const simulator = await developerSet();
    const big = zipSync(
      { "media.bin": new Uint8Array(48 * 1024 * 1024), manifest: strToU8("title=Large\nmajor_version=1") },
      { level: 0 },
    );
    expect(messages(await install(simulator, big))?.at(-1)).toBe("success: Install Success.");
    expect(simulator.state.sideloaded).toMatchObject({ title: "Large", bytes: big.length });
  });
});
