import { expect, test } from "bun:test";
import net from "node:net";
import fc from "fast-check";
import { roku } from "../../../src/platforms/roku/adapter.ts";
import { Ecp, paths } from "../../../src/platforms/roku/ecp.ts";
import type { RokuMemory } from "../../../src/platforms/roku/identity.ts";
import { loopHeader } from "../../../src/transport/socket.ts";
import { has } from "../../contract/bench.ts";
import { failureOf } from "../../support/failure.ts";
import { answer, startHttpDevice } from "../../support/http-device.ts";
import { listening } from "../../support/listening.ts";
import { platformHostOf } from "../../support/platform-host.ts";
import { packageOf } from "../../support/sets.ts";
import { scratchFolder } from "../../support/zip.ts";
import { cleanups, failure, lineTo, never, passing, tidy } from "../harness.ts";

const passed = passing();
tidy();

const info =
  "<device-info><serial-number>X1</serial-number><is-tv>true</is-tv><developer-enabled>true</developer-enabled></device-info>";

/** A set that answers paths with these documents or statuses (`hang`: not at all), and all else with an empty 200. */
async function connect(
  said: Readonly<Record<string, string | number | (() => string)>> = {},
  ports = {},
  onAsked = (_path: string) => {},
  timeout = 5_000,
) {
  const set = await startHttpDevice(({ target }) => {
    onAsked(target);
    const told = target === paths.deviceInfo ? info : said[target];
    const one = typeof told === "function" ? told() : told;
    if (one === "hang") return one;
    return typeof one === "number" ? answer(one) : answer(200, one);
  });
  return lineTo<typeof set, RokuMemory, unknown>(roku, set, { lead: set.address, ports, timeout });
}

test("T11 hostile ids, parameters and texts make exactly one request line, and our own headers", async () => {
  const { set, target } = await connect();
  const ecp = new Ecp(target, platformHostOf(), () => {});
  cleanups.push(() => ecp.http.close());
  const { host, port } = set.address;
  const nasty = fc.constantFrom(
    "\r\n",
    "\n",
    "\r",
    "\0",
    "%0d%0a",
    " HTTP/1.1\r\nX: y\r\n\r\n",
    "../",
    "?",
    "#",
    "&",
    "é",
    "📺",
    "\u2028",
    "a",
  );
  const text = fc.array(nasty, { maxLength: 5 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(text, text, text, async (id, name, value) => {
      const before = set.heard.length;
      await ecp.command(paths.launch(id, { [name]: value }), "launch", never);
      await ecp.command(paths.exit(id), "leave", never);
      await ecp.command(paths.key(id), "press", never);
      const heard = set.heard.slice(before).filter((one) => one.target !== paths.deviceInfo);
      expect(heard.length).toBe(3);
      for (const { head, target } of heard) {
        const headers = [`Host: ${host}:${port}`, `${loopHeader}: 1`, "Content-Length: 0"];
        expect(head.split("\r\n")).toEqual([`POST ${target} HTTP/1.1`, ...headers]);
        expect(target).toMatch(/^\/(launch|exit-app|keypress)\/[^/?#\s]*(\?[^/?#\s]*)?$/);
      }
      expect(paths.icon(id)).toMatch(/^\/query\/icon\/[^/?#\s]*$/);
    }),
    { numRuns: 1_500 },
  );
});

test("what buffers is about to play: play leaves it alone, and pause does not", async () => {
  const { set, connection } = await connect({ [paths.mediaPlayer]: '<player state="buffer"/>' });
  const presses = () => set.heard.filter(({ method }) => method === "POST").length;
  await connection.keys?.press("play", never);
  expect(presses()).toBe(0);
  await connection.keys?.press("pause", never);
  expect(presses()).toBe(1);
});

test("a document that comes too late once says nothing of its part to a poll; twice, or in the whole state, it is unknown", async () => {
  let active = '<active-app><app id="12">Netflix</app></active-app>';
  let player = '<player state="play"><plugin id="12"/></player>';
  const said = { [paths.activeApp]: () => active, [paths.mediaPlayer]: () => player };
  const { connection } = await connect(said, {}, undefined, 1_000);
  const state = has(connection.state);
  expect(await state.read(never)).toMatchObject({ app: { platformId: "12" }, playback: { status: "playing" } });
  const both = async () => (await state.readParts?.(["app", "playback"], never)) ?? {};
  [active, player] = ["hang", '<player state="play"><plugin id="99"/><position>5000 ms</position></player>'];
  const withoutApp = await both();
  // The position is that of another app than the one that was shown last.
  expect(["app" in withoutApp, withoutApp.playback?.position_ms]).toEqual([false, null]);
  [active, player] = ['<active-app><app id="12">Netflix</app></active-app>', "hang"];
  const withoutPlayer = await both();
  expect([withoutPlayer.app?.platformId, "playback" in withoutPlayer]).toEqual(["12", false]);
  expect(await both()).toMatchObject({ app: { platformId: "12" }, playback: null });
  expect(await state.read(never)).toMatchObject({ app: { platformId: "12" }, playback: null });
});

test("after a power key the kept connections are not used again: a set that goes off leaves them dead", async () => {
  const { set, connection } = await connect();
  for (const key of ["power-off", "home"] as const) await connection.keys?.press(key, never);
  const [off, home] = set.heard.filter(({ method }) => method === "POST");
  expect(home?.connection).not.toBe(off?.connection);
});

test("the list of apps has twice the time of other answers: ten seconds by default (SECURITY.md 4)", async () => {
  const set = await startHttpDevice(({ target }) => (target === paths.apps ? "hang" : answer(200, info)));
  const { connection } = await lineTo(roku, set, { lead: set.address, timeout: 500 });
  expect((await failure(has(connection.apps?.list)(never))).message).toContain("did not answer within 1 s");
});

test.each([
  ["pause", paths.mediaPlayer, '<player state="play"/>'],
  ["stop", paths.activeApp, '<active-app><app id="12">Netflix</app></active-app>'],
  ["mute", paths.audioDevice, "<audio-device><global><muted>false</muted><volume>10</volume></global></audio-device>"],
] as const)(
  "R14 %s is not sent when the machine slept while the set was asked before it",
  async (what, path, document) => {
    const { set, connection } = await connect({ [path]: document }, {}, (asked) => {
      if (asked === path) passed.ms = 8_000;
    });
    const { keys, volume, apps } = connection;
    const commands = {
      pause: () => keys?.press("pause", never),
      stop: () => apps?.stop?.(never),
      mute: () => volume?.mute?.(true, never),
    };
    expect((await failure(Promise.resolve(commands[what]()))).code).toBe("device_busy");
    expect(set.heard.filter(({ method }) => method === "POST")).toEqual([]);
  },
);

test.each([
  ["stop", "12", 200],
  ["stop", "12", 404],
  ["reload", "dev", 200],
] as const)(
  "R14 %s of %p sends nothing after exit-app where the machine slept then, answered by %p",
  async (...row) => {
    const [what, id, status] = row;
    const app = `<app id="${id}">A</app>`;
    const documents = { [paths.apps]: `<apps>${app}</apps>`, [paths.exit(id)]: status };
    const isShown = () => !set.heard.some(({ target }) => target === paths.exit(id));
    const shown = () => `<active-app>${isShown() || status === 404 ? app : "<app>Roku</app>"}</active-app>`;
    const { set, connection } = await connect({ ...documents, [paths.activeApp]: shown }, {}, (asked) => {
      if (asked === paths.exit(id)) passed.ms = 8_000;
    });
    const sent = what === "stop" ? connection.apps?.stop?.(never) : connection.dev?.reload(never, {});
    expect(await failureOf(Promise.resolve(sent))).toStartWith("device_timeout: The command was not sent, or not all");
    expect(set.heard.filter(({ method }) => method === "POST").map(({ target }) => target)).toEqual([paths.exit(id)]);
  },
);

test("an app counts as still shown only where the set has reported that since", async () => {
  const isHome = () => set.heard.some(({ target }) => target === paths.key("Home"));
  const shown = () => (isHome() ? "hang" : '<active-app><app id="tvinput.hdmi1" type="tvin">A</app></active-app>');
  const { set, connection } = await connect({ [paths.activeApp]: shown });
  expect((await connection.apps?.stop?.(never))?.platformId).toBe("tvinput.hdmi1");
}, 20_000);

test("a set that no longer heeds `ch` is tuned", async () => {
  // Roku OS 14.1.4 (home-assistant/core#133324): `ch` alone opens the channel that was shown last.
  const tuned = () => {
    const launched = set.heard.find(({ target }) => target.startsWith("/launch/tvinput.dtv?"))?.target;
    return new URLSearchParams(launched?.split("?")[1]).get("lcn") ?? "1.1";
  };
  const shown = () => `<tv-channel><channel><number>${tuned()}</number></channel></tv-channel>`;
  const { set, connection } = await connect({ [paths.tvActiveChannel]: shown });
  expect(await connection.channels?.select("3.1", never)).toBe(true);
});

test.each([500, "<other/>"])("a channel that was tuned is not confirmed where it is answered by %p", async (said) => {
  const { connection } = await connect({ [paths.tvActiveChannel]: said });
  expect(await connection.channels?.select("1.1", never)).toBeNull();
});

test.each([404, 500, 501])("an app is left by Home where exit-app is answered by %p", async (status) => {
  const { set, connection } = await connect({
    [paths.exit("12")]: status,
    [paths.activeApp]: () => `<active-app>${sent("/keypress/Home") ? "" : '<app id="12">Netflix</app>'}</active-app>`,
  });
  const sent = (path: string) => set.heard.some(({ target }) => target === path);
  expect(await connection.apps?.stop?.(never)).toMatchObject({ platformId: "12" });
  expect(sent("/exit-app/12")).toBe(true);
});

const realmIsKept = "a password given for this very set answers the realm of an emulator, which is kept; apps: %p";
test.each(["<apps/>", 404])(realmIsKept, async (apps) => {
  const challenge = 'WWW-Authenticate: Digest qop="auth", realm="Simulator", nonce="1"';
  const page = '<font color="red">Install Success.</font>';
  const emulator = await startHttpDevice(({ head }) =>
    /^authorization: digest .*realm="Simulator"/im.test(head) ? answer(200, page) : answer(401, "", [challenge]),
  );
  const folder = scratchFolder();
  cleanups.push(emulator.stop, folder.remove);
  const { connection, target } = await connect({ [paths.apps]: apps }, { installer: emulator.address.port });
  const bytes = packageOf();
  const archive = { path: folder.put(bytes), bytes: bytes.length };
  const install = (isOwn: boolean) => failureOf(has(connection.dev).install(archive, "x", never, { isOwn }));
  expect(await install(false)).toMatch(/^dev_auth_failed.*realm "Simulator"/);
  expect(await install(true)).toBe("none");
  expect(target.memory.dev_realm).toBe("Simulator");
  expect(await install(false)).toBe("none");
});

test("a package with XML files that are wrong could not be compiled, and says where (jellyrock#689)", async () => {
  const page =
    '<font color="red">Install Failure: Error parsing multiple XML components (Chooser.xml, Round.xml)</font>';
  const installer = await startHttpDevice(() => answer(200, page));
  const log = [
    "[scrpt.cmpl] Compiling 'Demo', id 'dev'",
    "Found 1 parse error in XML file Chooser.xml",
    "--- Line 2: XML syntax error found",
    "------ Compiling dev 'Demo' ------",
  ];
  const { port, stop } = await listening(net.createServer((client) => client.write(`${log.join("\r\n")}\r\n`)));
  const folder = scratchFolder();
  cleanups.push(installer.stop, stop, folder.remove);
  const { connection } = await connect(
    { [paths.apps]: "<apps/>" },
    { installer: installer.address.port, console: port },
  );
  const bytes = packageOf();
  const archive = { path: folder.put(bytes), bytes: bytes.length };
  const error = await failure(has(connection.dev).install(archive, "x", never));
  expect(error.message).toStartWith("could not compile the package: ");
  expect(error.details?.problems?.[1]).toEqual({ text: "XML syntax error found", file: "Chooser.xml", line: 2 });
});

test.each(["/pkgs/dev.jpg", "pkgs/dev.jpg?time=1783170127", "pkgs/dev_screenshot.png"])(
  "a screenshot is fetched as %p",
  async (named) => {
    const installer = await startHttpDevice(({ target }) =>
      target === "/plugin_install"
        ? answer(200, "")
        : answer(200, target === "/plugin_inspect" ? `<img src="${named}">` : `bytes of ${target}`),
    );
    cleanups.push(installer.stop);
    const active = '<active-app><app id="dev">Demo</app></active-app>';
    const { connection } = await connect({ [paths.activeApp]: active }, { installer: installer.address.port });
    const picture = await has(connection.screenshot)(never, () => "x");
    expect(Buffer.from(picture ?? "").toString()).toBe(`bytes of /${named.replace(/^\//, "")}`);
  },
);

test("an internal error of the set is a predicate without what was attempted, which is said after it", async () => {
  const { connection } = await connect({ "/keypress/Search": 500 });
  const refused = connection.keys?.press("search", never);
  await expect(refused).rejects.toMatchObject({ code: "device_error", message: "reported an internal error" });
});
