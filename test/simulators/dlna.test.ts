/** The simulated renderers behave as each program was observed to (players.md 8). */
import { afterEach, describe, expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { createDlnaSimulator, type DlnaSimulator, type StackName } from "../../src/simulators/dlna.ts";
import { until } from "../support/http-device.ts";
import { search } from "./datagrams.ts";

const running: DlnaSimulator[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

async function plugIn(stack: StackName, more: object = {}): Promise<DlnaSimulator> {
  const set = createDlnaSimulator({ name: "Test Room", uuid: randomUUID(), stack, ssdp: false, ...more });
  running.push(set);
  await set.start();
  return set;
}

async function call(set: DlnaSimulator, service: string, action: string, args: Record<string, string | number> = {}) {
  const version = (await (await fetch(set.location)).text()).includes("MediaRenderer:2") ? 2 : 1;
  const type = `urn:schemas-upnp-org:service:${service}:${version}`;
  const given = Object.entries({ InstanceID: 0, ...args }).map(([name, value]) => `<${name}>${value}</${name}>`);
  const answer = await fetch(`http://${set.host}:${set.port}/upnp/control/${service}`, {
    method: "POST",
    headers: { soapaction: `"${type}#${action}"` },
    body: `<s:Envelope><s:Body><u:${action} xmlns:u="${type}">${given.join("")}</u:${action}></s:Body></s:Envelope>`,
  });
  const text = await answer.text();
  const value = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? null;
  return { status: answer.status, code: Number(value("errorCode") ?? 0), value };
}

const transport = (set: DlnaSimulator, action: string, args = {}) => call(set, "AVTransport", action, args);
const sound = (set: DlnaSimulator, action: string, args = {}) =>
  call(set, "RenderingControl", action, { Channel: "Master", ...args });
const outcome = async (asked: ReturnType<typeof call>) => (await asked).code || 200;

describe("differences of the programs", () => {
  test.each([
    // What play, pause, an unknown action and next come to; the volume after 230, and after 23; another instance; the state.
    ["kodi", [200, 200, 401, 200], 100, "23", 718, "STOPPED"],
    ["gmediarender", [501, 501, 501, 501], 50, "23", 200, "STOPPED"],
    ["rygel", [701, 701, 401, 711], 50, "22", 718, "NO_MEDIA_PRESENT"],
  ] as const)(
    "%s: with nothing loaded, with too much volume, with another instance",
    async (stack, outcomes, loud, shown, instance, idle) => {
      const set = await plugIn(stack);
      for (const [at, action] of ["Play", "Pause", "Juggle", "Next"].entries())
        expect([action, await outcome(transport(set, action, { Speed: 1 }))]).toEqual([action, outcomes[at] ?? 0]);
      await sound(set, "SetVolume", { DesiredVolume: 230 });
      expect(set.state.volume).toBe(loud);
      await sound(set, "SetVolume", { DesiredVolume: 23 });
      expect((await sound(set, "GetVolume")).value("CurrentVolume")).toBe(shown);
      expect(await outcome(transport(set, "GetTransportInfo", { InstanceID: 7 }))).toBe(instance);
      expect((await transport(set, "GetTransportInfo")).value("CurrentTransportState")).toBe(idle);
    },
  );

  test("a missing file, and one without metadata", async () => {
    const [tv, kodi] = [await plugIn("tv"), await plugIn("kodi")];
    const missing = { CurrentURI: "http://192.0.2.1/missing.mp4", CurrentURIMetaData: "&lt;x/&gt;" };
    expect(await outcome(transport(tv, "SetAVTransportURI", missing))).toBe(716);
    expect(await outcome(transport(tv, "SetAVTransportURI", { ...missing, CurrentURIMetaData: "" }))).toBe(714);
    expect(await outcome(transport(kodi, "SetAVTransportURI", missing))).toBe(200);
    expect(await outcome(transport(kodi, "Play", { Speed: 1 }))).toBe(200);
    expect(kodi.state.transport).toBe("STOPPED");
  });
});

test.each(["kodi", "gmediarender", "rygel", "tv"] as const)(
  "%s lists Play while it is paused, also to its subscribers, by which other clients resume it",
  async (stack) => {
    const set = await plugIn(stack);
    const told: string[] = [];
    const subscriber = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        told.push(/CurrentTransportActions val=&quot;(.*?)&quot;/.exec(await request.text())?.[1] ?? "none");
        return new Response();
      },
    });
    const uri = { CurrentURI: "http://192.0.2.1/film.mp4", CurrentURIMetaData: "&lt;x/&gt;" };
    for (const [action, args] of [
      ["SetAVTransportURI", uri],
      ["Play", { Speed: 1 }],
      ["Pause", {}],
    ] as const)
      expect([action, await outcome(transport(set, action, args))]).toEqual([action, 200]);
    const headers = { nt: "upnp:event", callback: `<http://127.0.0.1:${subscriber.port}/>` };
    await fetch(`http://${set.host}:${set.port}/upnp/event/AVTransport`, { method: "SUBSCRIBE", headers });
    await until("it is told", () => told.length === 1);
    expect(told[0]).toMatch(/^play,/i);
    expect((await transport(set, "GetCurrentTransportActions")).value("Actions")).toBe(told[0] ?? "");
    await subscriber.stop(true);
  },
);

test.each(["kodi", "gmediarender", "rygel", "tv"] as const)(
  "%s describes what its actions take and return, by which other clients call them",
  async (stack) => {
    const set = await plugIn(stack);
    const texts = (text: string, name: string) =>
      [...text.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, "g"))].map(([, content = ""]) => content);
    for (const service of ["AVTransport", "RenderingControl", "ConnectionManager"]) {
      const document = await (await fetch(`http://${set.host}:${set.port}/upnp/${service}.xml`)).text();
      const [actions = "", variables = ""] = document.split("<serviceStateTable>");
      for (const text of actions.split("<action>").slice(1)) {
        const [action = "", ...names] = texts(text, "name");
        const returned = names.filter((_, at) => texts(text, "direction")[at] === "out");
        if (!action.startsWith("Get")) continue;
        const type = `urn:schemas-upnp-org:service:${service}:${stack === "rygel" ? 2 : 1}`;
        const taken = { InstanceID: "0", Channel: "Master" };
        const given = Object.entries(taken).filter(([name]) => names.includes(name));
        const answer = await fetch(`http://${set.host}:${set.port}/upnp/control/${service}`, {
          method: "POST",
          headers: { soapaction: `"${type}#${action}"` },
          body: `<u:${action} xmlns:u="${type}">${given.map(([name, value]) => `<${name} dt="ui4">${value}</${name}>`).join("")}</u:${action}>`,
        });
        const values = (await answer.text()).split(`<u:${action}Response`)[1]?.split("</u:")[0] ?? "";
        const got = [...values.matchAll(/<(\w+)/g)].map(([, name]) => name);
        expect([action, ...got]).toEqual([action, ...returned]);
      }
      for (const related of texts(actions, "relatedStateVariable")) expect(texts(variables, "name")).toContain(related);
      expect(actions).toContain("relatedStateVariable");
    }
  },
);

test("an argument that is none is refused, and changes nothing", async () => {
  const set = await plugIn("tv");
  await sound(set, "SetMute", { DesiredMute: 1 });
  for (const [action, name] of [
    ["SetMute", "DesiredMute"],
    ["SetVolume", "DesiredVolume"],
  ] as const)
    for (const value of ["", "perhaps"]) expect(await outcome(sound(set, action, { [name]: value }))).toBe(402);
  expect(set.state).toMatchObject({ muted: true, volume: 50 });
});

test("subscribers of each service are told what it has; a subscription that has ended cannot be renewed", async () => {
  const set = await plugIn("tv");
  const told: string[] = [];
  const subscriber = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      told.push(await request.text());
      return new Response();
    },
  });
  const subscribe = (service: string, headers: Record<string, string>) =>
    fetch(`http://${set.host}:${set.port}/upnp/event/${service}`, { method: "SUBSCRIBE", headers });
  const callback = { nt: "upnp:event", callback: `<http://127.0.0.1:${subscriber.port}/>` };
  for (const [at, service] of ["AVTransport", "RenderingControl", "ConnectionManager"].entries()) {
    await subscribe(service, callback);
    await until("it is told", () => told.length > at);
  }
  expect(told[0]).toMatch(/<LastChange>.*metadata-1-0\/AVT\/.*TransportState/s);
  expect(told[1]).toMatch(/<LastChange>.*metadata-1-0\/RCS\/.*Volume/s);
  expect(told[2]).toMatch(/<SinkProtocolInfo>http-get:/);
  const renewed = async (timeout: string) => {
    const { headers } = await subscribe("AVTransport", { ...callback, timeout });
    const sid = headers.get("sid") ?? "";
    if (timeout === "Second-1") await Bun.sleep(1_050);
    return (await subscribe("AVTransport", { sid, timeout })).status;
  };
  expect([await renewed("Second-60"), await renewed("Second-1")]).toEqual([200, 412]);
  await subscriber.stop(true);
});

test("searches for its own version, for older ones, and for everything are answered once each", async () => {
  const uuid = randomUUID();
  await plugIn("rygel", { ssdp: true, uuid });
  const answered = async (target: string, count: number, withinMs?: number) => {
    const own = (found: Awaited<ReturnType<typeof search>>) => found.filter(({ text }) => text.includes(uuid));
    const found = own(await search(target, (found) => own(found).length >= count, withinMs));
    return found.map(({ text }) => /^ST: (.*?)\r$/m.exec(text)?.[1]);
  };
  const type = "urn:schemas-upnp-org:device:MediaRenderer:";
  expect(await answered(`${type}1`, 1)).toEqual([`${type}1`]);
  expect(await answered(`${type}2`, 1)).toEqual([`${type}2`]);
  expect(new Set(await answered("ssdp:all", 6)).size).toBe(6);
  expect(await answered(`${type}3`, 1, 100)).toEqual([]);
});
