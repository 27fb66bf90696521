/** Who a Roku is, read alike when it is added and when it is commanded, however little it says and in whichever charset. */
import { expect, test } from "bun:test";
import { isWhole } from "../support/whole.ts";
import type { Reply } from "../support/wire.ts";
import type { WiredRoku } from "../support/wired-roku.ts";
import { add, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { app, page } from "./documents.ts";

const { daemon, startRoku } = await daemonForFile({ speed: 1, config: { devices: { request_timeout_ms: 3_000 } } });

/** What every set that was added must do afterwards. */
async function obeys(set: WiredRoku, id: string): Promise<void> {
  set.forget();
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
  await succeed(daemon, "pressKeys", { id, body: { keys: ["up", "down"], delay_ms: 0 } });
  await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  await succeed(daemon, "getState", { id });
  expect(set.commands).toEqual(["/keypress/Home", "/keypress/Up", "/keypress/Down", "/launch/12"]);
}

const poor: Readonly<Record<string, (set: WiredRoku) => void>> = {
  "an empty device-info": (set) => set.broken.set("/query/device-info", page("")),
  "a device-info that is no document": (set) => set.broken.set("/query/device-info", page("busy")),
  "a device-info of a web page": (set) => set.broken.set("/query/device-info", page("<html><body>hi</body></html>")),
  "a device-info without anything in it": (set) => set.broken.set("/query/device-info", page("<device-info/>")),
  "no device-info": (set) => set.broken.set("/query/device-info", { status: 404 }),
  "a device-info that fails": (set) => set.broken.set("/query/device-info", { status: 500 }),
  "a device-info that hangs up": (set) => set.broken.set("/query/device-info", "close"),
};

const closes = [undefined, "said", "rude"] as const;
for (const [at, [what, spoil]] of Object.entries(poor).entries()) {
  for (const close of isWhole ? closes : [closes[at % closes.length]]) {
    const how = close ? `, and a connection that it closes (${close})` : "";
    test.concurrent(`${what}, but a serial in the description${how}: added, and commanded`, async () => {
      const set = await startRoku(close ? { style: { close } } : {});
      spoil(set);
      const { id, serial } = await add(daemon, set);
      expect(serial).toBe(set.serial);
      await obeys(set, id);
    });
  }
}

test.concurrent("a device-info without a serial gets it from the description, and all else from itself", async () => {
  const set = await startRoku({ name: "Attic", model: "55N7" });
  set.facts.set("serial-number", null);
  const device = await add(daemon, set);
  expect(device).toMatchObject({ serial: set.serial, name: "Attic", kind: "tv", model: "55N7" });
  await obeys(set, device.id);
});

test.concurrent("a set that says no serial anywhere is known by its udn, and one without that by its device id", async () => {
  for (const gone of [["serial-number"], ["serial-number", "udn"]]) {
    const set = await startRoku();
    for (const name of gone) set.facts.set(name, null);
    const told = (await set.document("/")).replace(/<serialNumber>.*?<\/serialNumber>/, "");
    set.broken.set("/", page(gone.length > 1 ? told.replace(/<UDN>.*<\/UDN>/, "") : told));
    const device = await add(daemon, set);
    expect(device.serial).toBeNull();
    await obeys(set, device.id);
    // Found again, it is the same one.
    expect((await add(daemon, set)).id).toBe(device.id);
    // Another in its place is not.
    set.facts.set("udn", "0000-other");
    set.facts.set("device-id", "S-other");
    set.broken.set("/", page(told.replace(/<UDN>.*<\/UDN>/, "<UDN>uuid:0000-other</UDN>")));
    await daemon.sleep(2_100);
    set.forget();
    await refuse(daemon, "pressKey", { id: device.id, body: { key: "home" } }, "device_unreachable");
    expect(set.commands).toEqual([]);
  }
});

test.concurrent("a set that says nothing to know it by is told to be that, and a web server is no set", async () => {
  const set = await startRoku();
  for (const name of ["serial-number", "udn", "device-id"]) set.facts.set(name, null);
  set.broken.set("/", page((await set.document("/")).replace(/<(UDN|serialNumber)>.*?<\/\1>/g, "")));
  const error = await refuse(daemon, "addDevice", { body: set.address }, "device_error");
  expect(error.message).toContain("no serial number");
  set.broken.set("/", page("<html><body>It works</body></html>", "text/html"));
  set.broken.set("/query/device-info", { status: 404 });
  await refuse(daemon, "addDevice", { body: set.address }, "device_error");
});

test.concurrent("a web page in the place of a list is an error, and no app is marked as gone for it", async () => {
  const set = await startRoku();
  const { id } = await add(daemon, set);
  const { apps } = await succeed(daemon, "refreshApps", { id });
  expect(apps.length).toBeGreaterThan(5);
  const pages = [
    "<html><body>Please wait</body></html>",
    "<!DOCTYPE html><html></html>",
    "<device-info></device-info>",
    "<error>busy</error>",
    "",
    (await set.document("/query/apps")).slice(0, 300),
  ];
  for (const body of pages) {
    set.broken.set("/query/apps", page(body));
    expect([body, (await refuse(daemon, "refreshApps", { id }, "device_error")).code]).toEqual([body, "device_error"]);
    expect((await succeed(daemon, "listApps", { id })).apps.filter((one) => !one.installed)).toEqual([]);
  }
  set.broken.set("/query/apps", page("<apps/>"));
  expect((await succeed(daemon, "refreshApps", { id })).removed.length).toBe(apps.length);
  // Nor is a page in the place of what is shown the home screen.
  set.broken.set("/query/active-app", page("<html><body>Please wait</body></html>"));
  set.broken.delete("/query/apps");
  const { confirmed } = await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  expect(confirmed).toBeNull();
});

test.concurrent("the charset that the header, the declaration or the first bytes name is used", async () => {
  const set = await startRoku();
  const { id } = await add(daemon, set);
  const name = "Größe für Café";
  const document = (encoding: string) =>
    `<?xml version="1.0" encoding="${encoding}" ?>\n<apps>\n<app id="4711" type="appl" version="1">${name}</app>\n</apps>`;
  const told: Readonly<Record<string, Reply>> = {
    "UTF-8": page(document("UTF-8")),
    "ISO-8859-1 by its header": page(Buffer.from(document("x"), "latin1"), 'text/xml; charset="ISO-8859-1"'),
    "windows-1252 by its header": page(Buffer.from(document("x"), "latin1"), "text/xml;charset=windows-1252"),
    "ISO-8859-1 by its declaration": page(Buffer.from(document("ISO-8859-1"), "latin1"), "text/xml"),
    "ISO-8859-1 by its declaration, whatever the header says": page(Buffer.from(document("iso-8859-1"), "latin1")),
    "a charset that nobody knows": page(document("klingon"), "text/xml; charset=klingon"),
    "UTF-8 that is said to be UTF-16": page(document("UTF-16"), "text/xml"),
    "UTF-16 with its mark": page(Buffer.from(`\ufeff${document("UTF-16")}`, "utf16le"), "text/xml"),
    "UTF-8 with its mark": page(`\ufeff${document("UTF-8")}`, "text/xml"),
  };
  for (const [what, reply] of Object.entries(told)) {
    set.broken.set("/query/apps", reply);
    const { apps } = await succeed(daemon, "refreshApps", { id });
    expect([what, apps.find((one) => one.platform_id === "4711")?.name]).toEqual([what, name]);
  }
});

test.concurrent("names: exact, then without case, then & and + as words, and only then without punctuation", async () => {
  const set = await startRoku({
    apps: [
      app("1", "AMC"),
      app("2", "AMC+"),
      app("3", "Tom & Jerry"),
      app("4", "Disney+"),
      app("5", "7plus"),
      app("6", "News (US)"),
      app("7", "NEWS us"),
      app("8", "news us"),
    ],
  });
  const { id } = await add(daemon, set);
  const wanted: [string, string][] = [
    ["amc+", "2"],
    ["AMC+", "2"],
    ["amc", "1"],
    ["amc plus", "2"],
    ["tom and jerry", "3"],
    ["Tom & Jerry", "3"],
    ["tom jerry", "3"],
    ["disney", "4"],
    ["disney plus", "4"],
    ["7+", "5"],
    ["NEWS us", "7"],
    ["news (us)", "6"],
  ];
  for (const [said, meant] of wanted) {
    const { app: launched } = await succeed(daemon, "launchApp", { id, body: { app: said } });
    expect([said, launched.platform_id]).toEqual([said, meant]);
  }
  for (const said of ["News Us", "news-us!"])
    await refuse(daemon, "launchApp", { id, body: { app: said } }, "ambiguous_app");
});

test.concurrent("a set that does not say what it shows: a launch is unconfirmed at once, and stop presses Home", async () => {
  const set = await startRoku();
  const { id } = await add(daemon, set);
  set.broken.set("/query/active-app", { status: 404 });
  const started = performance.now();
  expect((await succeed(daemon, "launchApp", { id, body: { app: "12" } })).confirmed).toBeNull();
  expect(performance.now() - started).toBeLessThan(3_000);
  set.forget();
  expect((await succeed(daemon, "stopApp", { id })).app).toBeNull();
  expect(set.commands).toEqual(["/keypress/Home"]);
});
