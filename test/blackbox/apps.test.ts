/** Apps: the catalog, what a caller may call one, deep links, inputs, and the two ways a set ends one. */
import { expect, test } from "bun:test";
import type { WiredOptions } from "../support/wired-roku.ts";
import { refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { app } from "./documents.ts";

const { daemon, ...home } = await daemonForFile({ config: { devices: { request_timeout_ms: 3_000 } } });

/** Inputs with the user's own labels, twins, entities, non-ASCII. */
const street = [
  app("tvinput.hdmi1", "Blu-ray player", "tvin", "1.0.0"),
  app("tvinput.hdmi2", "Roku", "tvin", "1.0.0"),
  app("tvinput.hdmi3", "HDMI 3 (eARC)", "tvin", "1.0.0"),
  app("tvinput.hdmi4", "Konsole von Jörg", "tvin", "1.0.0"),
  app("tvinput.cvbs", "AV", "tvin", "1.0.0"),
  app("tvinput.dtv", "Live TV", "tvin", "1.0.0"),
  app("12", "Netflix", "appl", "71.0.14"),
  app("837", "YouTube"),
  app("13", "Prime Video"),
  app("90210", "Opéra & Ballet <HD>"),
  app("31001", "Weather"),
  app("31002", "Weather"),
  app("31003", "Sports!"),
  app("31004", "sports"),
  app("77_a1b2c3", "Private Cinema"),
];
const start = (options: WiredOptions = {}) => home.addRoku({ apps: street, ...options });

test.concurrent("the catalog: stable slugs, types, unique ids, served from the cache", async () => {
  const { set, id } = await start();
  set.forget();
  const { apps } = await succeed(daemon, "listApps", { id });
  const by = new Map(apps.map((one) => [one.platform_id, one]));
  expect(by.get("12")).toEqual({
    id: "netflix",
    name: "Netflix",
    platform_id: "12",
    type: "app",
    version: "71.0.14",
    installed: true,
  });
  expect(by.get("13")?.id).toBe("prime-video");
  expect(by.get("837")?.id).toBe("youtube");
  expect(by.get("90210")?.name).toBe("Opéra & Ballet <HD>");
  expect(by.get("tvinput.hdmi1")).toMatchObject({ type: "input", name: "Blu-ray player" });
  expect(by.get("tvinput.dtv")?.type).toBe("tuner");
  expect(new Set(apps.map((one) => one.id)).size).toBe(apps.length);
  for (const one of apps) expect(one.id).toMatch(/^[a-z0-9][a-z0-9._-]{0,63}$/);
  await succeed(daemon, "listApps", { id });
  expect(set.wire.requests.filter((request) => request.path === "/query/apps")).toHaveLength(1);
  await set.stop();
  expect((await succeed(daemon, "listApps", { id })).apps).toEqual(apps);
});

test.concurrent("launch resolves platform id, id, exact name, then a unique loose match", async () => {
  const { set, id } = await start();
  const wanted: [string, string][] = [
    ["12", "12"],
    ["netflix", "12"],
    ["Netflix", "12"],
    [" NETFLIX ", "12"],
    ["prime video", "13"],
    ["Prime-Video", "13"],
    ["PrimeVideo!", "13"],
    ["Opéra & Ballet <HD>", "90210"],
    ["77_a1b2c3", "77_a1b2c3"],
    ["Sports!", "31003"],
    ["sports", "31004"],
    ["tvinput.hdmi3", "tvinput.hdmi3"],
    ["hdmi2", "tvinput.hdmi2"],
    ["Konsole von Jörg", "tvinput.hdmi4"],
    ["Live TV", "tvinput.dtv"],
  ];
  for (const [said, meant] of wanted) {
    set.forget();
    set.active = null;
    const { app: launched, confirmed } = await succeed(daemon, "launchApp", { id, body: { app: said } });
    expect([said, launched.platform_id]).toEqual([said, meant]);
    expect(set.commands).toEqual([`/launch/${meant}`]);
    expect(confirmed).toBe(true);
  }
  set.forget();
  const twins = await refuse(daemon, "launchApp", { id, body: { app: "Weather" } }, "ambiguous_app");
  expect(twins.hint).toContain("31001");
  expect(twins.hint).toContain("31002");
  // Without case there is one of them; without punctuation, too, there are two.
  expect((await succeed(daemon, "launchApp", { id, body: { app: "SPORTS" } })).app.platform_id).toBe("31004");
  set.forget();
  await refuse(daemon, "launchApp", { id, body: { app: "sports?" } }, "ambiguous_app");
  await refuse(daemon, "launchApp", { id, body: { app: "No Such Thing" } }, "app_not_found");
  for (const odd of [
    "../input/Home",
    "12/../../input/Home",
    "12?contentId=1",
    "12%2F",
    "__proto__",
    "\r\n",
    "tvinput.hdmi9/x",
  ]) {
    await refuse(daemon, "launchApp", { id, body: { app: odd } }, "app_not_found", "invalid_payload");
  }
  for (const body of [
    {},
    { app: "" },
    { app: 12 },
    { app: ["12"] },
    { app: "12", params: ["x"] },
    { app: "12", params: { a: 1 } },
    "12",
  ]) {
    await refuse(daemon, "launchApp", { id, body }, "invalid_payload");
  }
  expect(set.commands).toEqual([]);
  // The set has it since the catalog was read; one it has not it refuses itself.
  set.apps = [...set.apps, app("424242", "Brand New")];
  expect((await succeed(daemon, "launchApp", { id, body: { app: "424242" } })).app.platform_id).toBe("424242");
  await refuse(daemon, "launchApp", { id, body: { app: "515151" } }, "app_not_found");
  expect(set.commands).toEqual(["/launch/424242", "/launch/515151"]);
});

for (const [exitApp, style] of [
  ["plain", {}],
  ["xml", { chunked: true }],
  ["absent", {}],
  ["absent", { close: "said" }],
] as const) {
  test.concurrent(`stop: exit-app ${exitApp}, ${JSON.stringify(style)}`, async () => {
    const { set, id } = await start({ legacy: exitApp === "absent", homeMs: 300, style });
    if (exitApp === "plain") set.spoiled.set("/exit-app/837", (said) => ({ ...said, body: "" }));
    await succeed(daemon, "listApps", { id });
    set.active = set.apps.find((one) => one.id === "837") ?? null;
    expect((await succeed(daemon, "stopApp", { id })).app?.id).toBe("youtube");
    expect(set.active).toBeNull();
    if (exitApp === "absent") expect(set.commands).toContain("/keypress/Home");
    else {
      expect(set.commands).toContain("/exit-app/837");
      expect(set.simulator.state.background).toEqual([]);
    }
    // An input is left by Home, whatever the set has.
    set.forget();
    set.active = set.apps.find((one) => one.id === "tvinput.hdmi1") ?? null;
    expect((await succeed(daemon, "stopApp", { id })).app).toMatchObject({
      type: "input",
      platform_id: "tvinput.hdmi1",
    });
    expect(set.active).toBeNull();
    expect(set.commands).toContain("/keypress/Home");
  });
}

test("refresh merges, and clears when told", async () => {
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
  // One app, none, one without attributes: nothing breaks on them.
  for (const apps of [[app("11", "Roku Store", null, null)], []]) {
    set.apps = apps;
    const { apps: now } = await succeed(daemon, "refreshApps", { id, body: { clear: true } });
    expect(now.map((one) => [one.platform_id, one.version])).toEqual(apps.map((one) => [one.id, one.version ?? null]));
  }
});

test("T24 what a set says of its apps is kept within bounds, and leads nowhere", async () => {
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
