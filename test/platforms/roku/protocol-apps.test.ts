import { describe, expect, test } from "bun:test";
import { inputOf, isRokuAppId, readActiveApp, readApps } from "../../../src/platforms/roku/protocol.ts";
import { capture, noCaptures } from "./captures.ts";

describe.skipIf(noCaptures !== null)(
  `the captures of a TCL set${noCaptures === null ? "" : ` (skipped: ${noCaptures})`}`,
  () => {
    test("apps", () => {
      const apps = readApps(capture("apps"));
      expect(apps.length).toBe(25);
      expect(apps.slice(0, 6)).toEqual([
        { platformId: "tvinput.hdmi1", name: "HDMI 1", version: "1.0.0", type: "input", id: "hdmi1" },
        { platformId: "tvinput.hdmi2", name: "Roku", version: "1.0.0", type: "input", id: "hdmi2" },
        { platformId: "tvinput.hdmi3", name: "HDMI 3 (ARC)", version: "1.0.0", type: "input", id: "hdmi3" },
        { platformId: "tvinput.cvbs", name: "AV", version: "1.0.0", type: "input", id: "av" },
        { platformId: "tvinput.dtv", name: "Live TV", version: "1.0.0", type: "tuner", id: "tuner" },
        { platformId: "12", name: "Netflix", version: "70.2523.1521026", type: "app", id: "netflix" },
      ]);
      expect(apps.map((app) => app.name)).toContain("Kids & Family on The Roku Channel");
    });

    test("active-app: home, and home under a screensaver", () => {
      expect(readActiveApp(capture("active-app"))).toEqual({ app: null, screensaver: false });
      expect(readActiveApp(capture("active-app-screensaver"))).toEqual({ app: null, screensaver: true });
    });
  },
);

describe("apps", () => {
  test("none, one, and one without anything but its id", () => {
    expect(readApps("<apps/>")).toEqual([]);
    expect(readApps("<apps></apps>")).toEqual([]);
    expect(readApps('<apps><app id="11">Roku Channel Store</app></apps>')).toEqual([
      { platformId: "11", name: "Roku Channel Store", version: null, type: "app" },
    ]);
    expect(readApps('<apps><app id="11"/><app>no id</app><app id="">none</app></apps>')).toEqual([
      { platformId: "11", name: "11", version: null, type: "app" },
    ]);
  });

  test("the sideloaded one, private ones, and inputs that have no key", () => {
    const list =
      '<apps><app id="dev" type="appl" version="1.0.1">Mine</app><app id="31012_ab12" subtype="rsga">P</app><app id="tvinput.hdmi9" type="tvin">X</app></apps>';
    expect(readApps(list)).toEqual([
      { platformId: "dev", name: "Mine", version: "1.0.1", type: "dev", id: "dev" },
      { platformId: "31012_ab12", name: "P", version: null, type: "app" },
      { platformId: "tvinput.hdmi9", name: "X", version: null, type: "input" },
    ]);
  });

  test("whose ids are too long for a catalog are left out; where one is shown, its id has no half characters; a long name is cut", () => {
    const long = `<app id="${"1".repeat(127)}📺">Long</app>`;
    expect(readApps(`<apps>${long}</apps>`)).toEqual([]);
    const { app } = readActiveApp(`<active-app>${long}</active-app>`);
    expect([app?.platformId.length, app?.platformId.isWellFormed()]).toEqual([128, true]);
    expect(readApps(`<apps><app id="1">${"n".repeat(300)}</app></apps>`)[0]?.name.length).toBe(256);
  });

  test("menus and screensavers are none", () => {
    expect(
      readApps(
        '<apps><app id="1" type="menu">M</app><app id="2" type="ssvr">S</app><app id="3" type="appl">A</app></apps>',
      ),
    ).toMatchObject([{ platformId: "3" }]);
  });

  test("ids have these forms, and no other", () => {
    for (const id of ["12", "1", "700101", "31012_4c1f", "dev", "tvinput.hdmi1", "tvinput.dtv", "tvinput.cvbs"])
      expect(isRokuAppId(id)).toBe(true);
    for (const id of [
      "",
      "netflix",
      "12a",
      "12 ",
      "-1",
      "1.5",
      "../1",
      "tvinput.",
      "tvinput.x/y",
      "12?x",
      "dev2",
      "1".repeat(11),
    ])
      expect(isRokuAppId(id)).toBe(false);
  });

  test("inputs by their ids", () => {
    expect(["tvinput.hdmi1", "tvinput.hdmi4", "tvinput.cvbs", "tvinput.dtv"].map(inputOf)).toEqual([
      "hdmi1",
      "hdmi4",
      "av",
      "tuner",
    ]);
    for (const other of ["12", "", "constructor", "__proto__"]) expect(inputOf(other)).toBeNull();
  });
});

describe("the active app", () => {
  const homes = {
    "no id": "<app>Roku</app>",
    "an empty id": '<app id="">Roku</app>',
    "the dynamic menu": '<app id="562859" type="menu" version="2.1.7" ui-location="home">Roku Dynamic Menu</app>',
    "the dynamic menu without its type": '<app id="562859">Roku Dynamic Menu</app>',
    "brs-desktop": '<app id="home">Home</app>',
    "a type of its own": '<app id="9" type="home">Roku</app>',
    "a menu": '<app id="9" type="menu">Roku</app>',
    "no element at all": "",
  };
  for (const [spelling, app] of Object.entries(homes)) {
    test(`home, spelled as ${spelling}`, () => {
      expect(readActiveApp(`<active-app>${app}</active-app>`)).toEqual({ app: null, screensaver: false });
    });
  }

  test("an app, the first of two, an input, an app under a screensaver", () => {
    const netflix = '<app id="12" type="appl" version="8.1">Netflix</app>';
    expect(readActiveApp(`<active-app>${netflix}<app id="13">B</app></active-app>`)).toEqual({
      app: { platformId: "12", name: "Netflix", type: "app", version: "8.1", id: "netflix" },
      screensaver: false,
    });
    const saver = '<screensaver id="55" type="ssvr" version="1">City</screensaver>';
    expect(readActiveApp(`<active-app>${netflix}${saver}</active-app>`)).toMatchObject({
      app: { platformId: "12" },
      screensaver: true,
    });
    expect(readActiveApp('<active-app><app id="55" type="ssvr">City</app></active-app>').screensaver).toBe(true);
    expect(
      readActiveApp('<active-app><app id="tvinput.hdmi1" type="tvin">Blu-ray</app></active-app>').app,
    ).toMatchObject({
      id: "hdmi1",
      type: "input",
      name: "Blu-ray",
    });
  });

  test.each(["", ' type="appl"', ' type="menu"'])("an input that only the place of an app tells%s", (type) => {
    const live = `<app id="595596"${type} version="3.0.1" ui-location="tvinput.dtv">Live TV</app>`;
    expect(readActiveApp(`<active-app>${live}</active-app>`).app).toEqual({
      platformId: "tvinput.dtv",
      name: "Live TV",
      type: "tuner",
      version: "3.0.1",
      id: "tuner",
    });
  });
});
