/** The identity of a Roku that tells little about itself, and documents in other charsets or of other programs. */
import { expect, test } from "bun:test";
import type { Reply } from "../support/wire.ts";
import type { WiredRoku } from "../support/wired-roku.ts";
import { add, refuse, succeed } from "./checked.ts";
import { daemonForFile } from "./daemon-for-file.ts";
import { page } from "./documents.ts";

const { daemon, startRoku } = await daemonForFile({ speed: 2, config: { devices: { request_timeout_ms: 3_000 } } });

/** Commands that every set must take once it is added. */
async function obeys(set: WiredRoku, id: string): Promise<void> {
  set.forget();
  await succeed(daemon, "pressKey", { id, body: { key: "home" } });
  await succeed(daemon, "pressKeys", { id, body: { keys: ["up", "down"], delay_ms: 0 } });
  await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  const { state } = await succeed(daemon, "getState", { id });
  expect(["unknown", "on"]).toContain(state.power);
  expect(set.commands).toEqual(["/keypress/Home", "/keypress/Up", "/keypress/Down", "/launch/12"]);
}

const info = "/query/device-info";
const incomplete: Readonly<Record<string, [spoil: (set: WiredRoku) => void, close?: "said" | "rude"]>> = {
  "an empty device-info": [(set) => set.broken.set(info, page(""))],
  "a web page in place of the device-info": [(set) => set.broken.set(info, page("<html><body>hi</body></html>"))],
  "a device-info with nothing in it": [(set) => set.broken.set(info, page("<device-info/>")), "said"],
  "no device-info": [(set) => set.broken.set(info, { status: 404 }), "rude"],
  "no document but its description": [
    (set) => {
      for (const query of ["device-info", "active-app", "apps", "media-player", "audio-device"])
        set.broken.set(`/query/${query}`, { status: 501 });
    },
  ],
  "a connection that ends at the device-info": [(set) => set.broken.set(info, "close")],
  "a device-info without a serial": [(set) => set.facts.set("serial-number", null), "rude"],
};

test.concurrent.each(Object.entries(incomplete))(
  "a set with %s is known by the serial and the name of its description",
  async (_what, [spoil, close]) => {
    const set = await startRoku(close ? { style: { close } } : {});
    spoil(set);
    const { id, name, serial } = await add(daemon, set);
    expect([name.replace(/ \d+$/, ""), serial]).toEqual([set.identity.name, set.serial]);
    await obeys(set, id);
  },
);

test.concurrent.each([[["serial-number"]], [["serial-number", "udn"]]])(
  "without %p it is known by its UDN, or by its device id",
  async (missing) => {
    const set = await startRoku();
    for (const name of missing) set.facts.set(name, null);
    const description = (await set.document("/")).replace(/<serialNumber>.*?<\/serialNumber>/, "");
    set.broken.set("/", page(missing.length > 1 ? description.replace(/<UDN>.*<\/UDN>/, "") : description));
    const device = await add(daemon, set);
    expect(device.serial).toBeNull();
    await obeys(set, device.id);
    expect((await add(daemon, set)).id).toBe(device.id);
    // Another set in its place is not driven.
    set.facts.set("udn", "0000-other");
    set.facts.set("device-id", "S-other");
    set.broken.set("/", page(description.replace(/<UDN>.*<\/UDN>/, "<UDN>uuid:0000-other</UDN>")));
    await daemon.sleep(2_100);
    set.forget();
    await refuse(daemon, "pressKey", { id: device.id, body: { key: "home" } }, "device_unreachable");
    expect(set.commands).toEqual([]);
  },
);

test.concurrent("a set without any identity, and a web server, cannot be added", async () => {
  const set = await startRoku();
  for (const name of ["serial-number", "udn", "device-id"]) set.facts.set(name, null);
  set.broken.set("/", page((await set.document("/")).replace(/<(UDN|serialNumber)>.*?<\/\1>/g, "")));
  const error = await refuse(daemon, "addDevice", { body: set.address }, "device_error");
  expect(error.message).toContain("no serial number");
  set.broken.set("/", page("<html><body>It works</body></html>", "text/html"));
  set.broken.set("/query/device-info", { status: 404 });
  await refuse(daemon, "addDevice", { body: set.address }, "device_error");
});

test.concurrent("a web page in place of the list of apps is an error, and marks no app as gone", async () => {
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
  // A web page in place of what is shown is not taken for the home screen.
  set.broken.set("/query/active-app", page("<html><body>Please wait</body></html>"));
  set.broken.delete("/query/apps");
  const { confirmed } = await succeed(daemon, "launchApp", { id, body: { app: "12" } });
  expect(confirmed).toBeNull();
});

test.concurrent("a document is read in the charset of its header, its declaration or its first bytes", async () => {
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

test.concurrent("where a set does not say what it shows, a launch is unconfirmed at once, and stop presses Home", async () => {
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
