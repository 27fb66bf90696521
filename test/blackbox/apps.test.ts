/** Apps of a Roku: the catalog, what a caller may call one, how one is left, and what hostile lists come to. */
import { expect, test } from "bun:test";
import type { WiredOptions } from "../support/wired-roku.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { app } from "./documents.ts";

const { daemon, addRoku } = await daemonForFile({ config: { devices: { request_timeout_ms: 3_000 } } });

/** Inputs with the user's own labels, two apps with one name, entities, letters beyond ASCII, names that differ in signs. */
const apps = [
  app("tvinput.hdmi1", "Blu-ray player", "tvin", "1.0.0"),
  app("tvinput.hdmi2", "Roku", "tvin", "1.0.0"),
  app("tvinput.hdmi4", "Konsole von Jörg", "tvin", "1.0.0"),
  app("tvinput.dtv", "Live TV", "tvin", "1.0.0"),
  app("12", "Netflix", "appl", "71.0.14"),
  app("837", "YouTube"),
  app("90210", "Opéra & Ballet <HD>"),
  app("31001", "Weather"),
  app("31002", "Weather"),
  app("31003", "Sports!"),
  app("31004", "sports"),
  app("77_a1b2c3", "Private Cinema"),
  app("1", "AMC"),
  app("2", "AMC+"),
  app("3", "Tom & Jerry"),
  app("5", "7plus"),
];
const start = (options: WiredOptions = {}) => addRoku({ apps, ...options });

test.concurrent("the catalog is read once, and known while the set is off", async () => {
  const { set, id } = await start();
  const { apps: listed } = await succeed(daemon, "listApps", { id });
  const by = new Map(listed.map((one) => [one.platform_id, one]));
  const netflix = { id: "netflix", name: "Netflix", platform_id: "12", type: "app", version: "71.0.14" } as const;
  expect(by.get("12")).toEqual({ ...netflix, installed: true });
  expect(by.get("90210")?.name).toBe("Opéra & Ballet <HD>");
  expect(by.get("tvinput.hdmi1")).toMatchObject({ type: "input", name: "Blu-ray player" });
  expect(by.get("tvinput.dtv")?.type).toBe("tuner");
  expect(new Set(listed.map((one) => one.id)).size).toBe(apps.length);
  await set.stop();
  expect((await succeed(daemon, "listApps", { id })).apps).toEqual(listed);
  expect(set.wire.requests.filter((request) => request.path === "/query/apps")).toHaveLength(1);
});

test.concurrent("an app is found by platform id, id, exact name, name in any case, with & and + as words, and without signs", async () => {
  const { set, id } = await start();
  const launch = (name: string) => ({ id, body: { app: name } });
  for (const [name, platformId] of [
    ["12", "12"],
    [" NETFLIX ", "12"],
    ["Opéra & Ballet <HD>", "90210"],
    ["77_a1b2c3", "77_a1b2c3"],
    ["Sports!", "31003"],
    ["SPORTS", "31004"],
    ["hdmi2", "tvinput.hdmi2"],
    ["Konsole von Jörg", "tvinput.hdmi4"],
    ["amc", "1"],
    ["amc+", "2"],
    ["amc plus", "2"],
    ["tom and jerry", "3"],
    ["tom jerry", "3"],
    ["7+", "5"],
  ] as const) {
    set.forget();
    set.active = null;
    const launched = await succeed(daemon, "launchApp", launch(name));
    expect([name, launched.app.platform_id, launched.confirmed]).toEqual([name, platformId, true]);
    expect(set.commands).toEqual([`/launch/${platformId}`]);
  }
  set.forget();
  const { hint } = await refuse(daemon, "launchApp", launch("Weather"), "ambiguous_app");
  for (const twin of ["31001", "31002"]) expect(hint).toContain(twin);
  await refuse(daemon, "launchApp", launch("sports?"), "ambiguous_app");
  for (const odd of ["No Such Thing", "12/../../input/Home", "12?contentId=1", "__proto__", "\r\n"])
    await refuse(daemon, "launchApp", launch(odd), "app_not_found", "invalid_payload");
  expect(set.commands).toEqual([]);
  // An id that the catalog lacks is sent all the same: the set may have the app since, or refuses it itself.
  set.apps = [...set.apps, app("424242", "Brand New")];
  expect((await succeed(daemon, "launchApp", launch("424242"))).app.platform_id).toBe("424242");
  await refuse(daemon, "launchApp", launch("515151"), "app_not_found");
  expect(set.commands).toEqual(["/launch/424242", "/launch/515151"]);
});

test.concurrent.each([true, false])(
  "an app is left by exit-app, on old firmware by Home; an input by Home (old: %p)",
  async (legacy) => {
    const { set, id } = await start({ legacy, homeMs: 300, style: legacy ? { close: "said" } : { chunked: true } });
    await succeed(daemon, "listApps", { id });
    set.active = { id: "837" };
    expect((await succeed(daemon, "stopApp", { id })).app?.id).toBe("youtube");
    expect(set.commands).toContain(legacy ? "/keypress/Home" : "/exit-app/837");
    expect(set.active).toBeNull();
    if (!legacy) expect(set.simulator.state.background).toEqual([]);
    set.forget();
    set.active = { id: "tvinput.hdmi1" };
    expect((await succeed(daemon, "stopApp", { id })).app).toMatchObject({
      type: "input",
      platform_id: "tvinput.hdmi1",
    });
    expect(set.active).toBeNull();
    expect(set.commands).toContain("/keypress/Home");
  },
);

test("a refresh marks apps that are gone, and forgets them when it is asked to clear", async () => {
  const { set, id } = await start({ apps: [app("12", "Netflix"), app("837", "YouTube")] });
  await succeed(daemon, "listApps", { id });
  set.apps = [app("12", "Netflix", "appl", "99"), app("5001", "Neu")];
  const merged = await succeed(daemon, "refreshApps", { id });
  expect(merged).toMatchObject({ platform: "roku", added: ["neu"], removed: ["youtube"], cleared: false });
  const by = new Map(merged.apps.map((one) => [one.id, one]));
  expect([by.get("netflix")?.version, by.get("youtube")?.installed, by.get("neu")?.installed]).toEqual([
    "99",
    false,
    true,
  ]);
  expect((await succeed(daemon, "listApps", { id })).apps).toEqual(merged.apps);
  const cleared = await succeed(daemon, "refreshApps", { id, body: { clear: true } });
  expect(cleared.apps.map((one) => one.id).sort()).toEqual(["netflix", "neu"]);
  await refuse(daemon, "refreshApps", { id, body: { clear: "yes" } }, "invalid_payload");
  // A list of one app without attributes, and an empty one.
  for (const apps of [[app("11", "Roku Store", null, null)], []]) {
    set.apps = apps;
    const { apps: now } = await succeed(daemon, "refreshApps", { id, body: { clear: true } });
    expect(now.map((one) => [one.platform_id, one.version])).toEqual(apps.map((one) => [one.id, one.version ?? null]));
  }
});

test("T24 the apps that a set reports are kept within bounds, and their addresses are not followed", async () => {
  const evil = [
    app("../../input/Home", "Climb"),
    app("__proto__", "constructor"),
    app("7\r\n8", "Line"),
    app("9", `\u001b]0;x\u0007${"long ".repeat(9_000)}`),
  ];
  const { set, id } = await start({
    apps: [
      ...evil,
      app("12", "Netflix"),
      app("12", "Netflix"),
      ...Array.from({ length: 1_500 }, (_, index) => app(`${50_000 + index}`, `App ${index}`)),
    ],
  });
  const { apps } = await succeed(daemon, "refreshApps", { id, body: { clear: true } });
  expect(apps.length).toBeGreaterThan(500);
  expect(new Set(apps.map((one) => one.id)).size).toBe(apps.length);
  for (const one of apps) {
    expect(one.id).toMatch(/^[a-z0-9][a-z0-9._-]{0,63}$/);
    expect(one.name.length).toBeLessThanOrEqual(256);
    expect(`${one.name}${one.platform_id}`).not.toMatch(/[\u0000-\u001f\u007f]/);
  }
  set.forget();
  for (const said of ["Climb", "constructor", "Line"])
    await daemon.api("POST", `/devices/${id}/apps/launch`, { app: said });
  for (const command of set.commands) expect(command).toMatch(/^\/launch\/[A-Za-z0-9._%-]+$/);
  expect((await succeed(daemon, "launchApp", { id, body: { app: "netflix" } })).app.platform_id).toBe("12");
});
