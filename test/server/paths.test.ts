/** Paths: the `{id}` in every spelling, unknown routes, wrong methods, HEAD. */
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { operations } from "../../src/api/operations.ts";
import { createRokuSimulator } from "../../src/simulators/roku.ts";
import { roomForFile } from "../blackbox/daemon-for-file.ts";
import { callTo, refusal } from "../support/raw-http.ts";

const room = await roomForFile();
const second = createRokuSimulator({ name: "Other", ssdp: false });
await second.start();
afterAll(() => second.stop());
const { id } = (await room.daemon.api("GET", "/devices")).body.data[0];

function call(what: string, body?: string) {
  const [method = "", target = ""] = what.split(" ");
  return callTo(room.daemon.port, method, target, [], body);
}

const rename = async (name: string) => {
  const { status, body } = await room.daemon.api("PATCH", `/devices/${id}`, { name });
  expect([name, status]).toEqual([name, 200]);
  return body.data.name as string;
};

const bodies: Readonly<Record<string, string>> = {
  changeDevice: '{"name":"fine"}',
  launchApp: '{"app":"netflix"}',
  pressKey: '{"key":"info"}',
  pressKeys: '{"keys":["info"]}',
  joinDevice: '{"with":"other"}',
  splitDevice: '{"platform":"roku"}',
  setVolume: '{"level":20}',
  controlPlayback: '{"do":"play"}',
  playMedia: '{"url":"http://192.168.1.5/film.mp4"}',
  selectInput: '{"input":"hdmi1"}',
  selectChannel: '{"channel":"5"}',
  notify: '{"message":"fine"}',
  takeLease: '{"owner":"me","ttl_s":60}',
};
const routes = Object.entries(operations)
  .filter(([, operation]) => operation.path.includes(":id"))
  .map(([name, { method, path }]) => ({ name, method: method.toUpperCase(), path }));

describe("an invalid or unknown id, on every route that takes one", () => {
  const invalid =
    "%2F a%2Fb set%2F %2e%2e%2f %25 100%25 %252F %2573et %zz % set% %2 %E0%A4%A %FF %C0%AF %ED%A0%80 set%FF".split(" ");
  const unknown = [
    ..."%00 set%00 nobody se sett %20 %20%20 + set+ %09 %5C..%5Cset ..%5C %3F %23 s%C3%A9t %F0%9F%93%BA".split(" "),
    "00000000-0000-5000-8000-000000000000",
    "__proto__",
    "constructor",
    "x".repeat(2_000),
  ];

  test.each(routes)("$method $path", async ({ name, method, path }) => {
    const before = await room.daemon.api("GET", "/devices");
    const reached = await room.requestsDuring(async () => {
      for (const [ids, expected] of [
        [invalid, "400 invalid_device_name"],
        [unknown, "404 device_not_found"],
      ] as const)
        for (const one of ids)
          expect([
            one,
            refusal(await call(`${method} /v1${path.replace(":id", one).replace(":app", "netflix")}`, bodies[name])),
          ]).toEqual([one, expected]);
    });
    expect(reached).toBe(0);
    expect((await room.daemon.api("GET", "/devices")).body).toEqual(before.body);
  });
});

describe("a valid id", () => {
  const found = async (segment: string) => {
    const answer = await call(`GET /v1/devices/${segment}`);
    expect([segment, answer.status]).toEqual([segment, 200]);
    expect(JSON.parse(answer.body).data.id).toBe(id);
  };

  test("by UUID, by name, with blanks around it, in capitals, escaped without need", async () => {
    for (const segment of [
      id,
      id.toUpperCase(),
      `%20${id}%09`,
      "set",
      "SET",
      "Set",
      "%20set%20%20",
      "s%65t",
      "%73%65%74",
      "set?x=%zz",
    ])
      await found(segment);
  });

  test("Unicode in either form, blanks, signs", async () => {
    expect(await rename("  Ku\u0308che + B\u00fcro?#&=;\u{1f4fa} ")).toBe("K\u00fcche + B\u00fcro?#&=;\u{1f4fa}");
    for (const name of [
      "K\u00fcche + B\u00fcro?#&=;\u{1f4fa}",
      "Ku\u0308che + Bu\u0308ro?#&=;\u{1f4fa}",
      "K\u00dcCHE + B\u00dcRO?#&=;\u{1f4fa}",
    ])
      await found(encodeURIComponent(name));
    await rename("set");
  });

  test("every valid name leads to its device", async () => {
    // A URL drops the segments . and .. before anyone sees them.
    const name = fc
      .string({ unit: "binary", minLength: 1, maxLength: 20 })
      .filter((text) => !/^\.{0,2}$|[/%\p{C}]|^(default|all|label:.*)$/iu.test(text.trim()));
    await fc.assert(
      fc.asyncProperty(name, async (wanted) => found(encodeURIComponent(await rename(wanted)))),
      { numRuns: 15 },
    );
    await rename("set");
  });
});

describe("default", () => {
  const asked = async (word = "default") => {
    const answer = await call(`GET /v1/devices/${word}`);
    return answer.status === 200 ? JSON.parse(answer.body).data.name : refusal(answer);
  };
  const configured = (value: string | null) => room.daemon.api("PATCH", "/config", { "daemon.default_device": value });
  const status = async () => (await room.daemon.api("GET", "/daemon/status")).body.data.default_device;
  const missing = "404 default_device_missing";

  test("the default is the only device; of several none, until one is chosen; without devices none", async () => {
    expect([await asked(), await asked("DEFAULT"), await asked("%20default%20"), await status()]).toEqual([
      "set",
      "set",
      "set",
      "set",
    ]);
    const { body } = await room.daemon.api("POST", "/devices", { host: "127.0.0.1", port: second.port, name: "other" });
    expect([await asked(), await status()]).toEqual([missing, null]);
    for (const wanted of ["OTHER", body.data.id, " other "]) {
      expect((await configured(wanted)).status).toBe(200);
      expect([wanted, await asked(), await status()]).toEqual([wanted, "other", "other"]);
    }
    expect((await configured("nobody")).status).toBe(200);
    expect([await asked(), await status()]).toEqual([missing, null]);
    for (const bad of ["a/b", "a%b", "a\nb"])
      expect((await configured(bad)).body.error.code).toBe("invalid_config_value");
    await configured(null);
    await room.daemon.api("DELETE", "/devices/other");
    expect(await asked()).toBe("set");
    await room.daemon.api("DELETE", "/devices/default");
    expect([await asked(), await status()]).toEqual([missing, null]);
    await room.addSet();
  });

  test("every operation of a device reports that there is no default", async () => {
    await room.daemon.api("DELETE", "/devices/set");
    for (const { name, method, path } of routes)
      expect([
        path,
        refusal(await call(`${method} /v1${path.replace(":id", "default").replace(":app", "netflix")}`, bodies[name])),
      ]).toEqual([path, missing]);
    await room.addSet();
  });
});

describe("routes", () => {
  test.each([
    ..."/x /v1 /v1/ /V1/devices /v1/Devices /v2/devices /devices /v1/devices/ /v1//devices //v1/devices".split(" "),
    ..."/v1/devices/set/ /v1/devices/set/nothing /v1/devices/set/remote /v1/devices/set/remote/key/".split(" "),
    ..."/v1/devices/set/apps/launch/x /v1/config/ /v1/config/daemon /v1/daemon /v1/daemon/status/x".split(" "),
    ..."/v1/health/ /favicon.ico /v1/devices/./ /v1/../x".split(" "),
  ])("%s is nothing, whatever the method", async (path) => {
    for (const method of ["GET", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "TRACE"])
      expect([method, refusal(await call(`${method} ${path}`))]).toEqual([method, "404 not_found"]);
    const head = await call(`HEAD ${path}`);
    expect([head.status, head.body]).toEqual([404, ""]);
  });

  const byPath = Object.groupBy(Object.values(operations), ({ path }) => path);
  test.each(Object.keys(byPath))("%s accepts its methods and no other", async (path) => {
    const target = `/v1${path.replace(":id", "set").replace(":app", "netflix").replace(":group", "all")}`;
    // A path of its own may also be read as the device of that name.
    const patterns = Object.keys(byPath).filter((other) =>
      new RegExp(`^${other.replaceAll(/:\w+/g, "[^/]+")}$`).test(path),
    );
    const taken = patterns.flatMap((other) =>
      (byPath[other as keyof typeof byPath] ?? []).map(({ method }) => method.toUpperCase()),
    );
    const allow = [...taken, ...(taken.includes("GET") ? ["HEAD"] : [])].toSorted();
    const reached = await room.requestsDuring(async () => {
      for (const method of ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "TRACE"].filter(
        (one) => !allow.includes(one),
      )) {
        const answer = await call(`${method} ${target}`, method === "HEAD" ? undefined : '{"key":"info"}');
        expect([method, answer.status, answer.headers.get("allow")?.split(", ").toSorted()]).toEqual([
          method,
          405,
          allow,
        ]);
        if (method !== "HEAD") expect(refusal(answer)).toBe("405 method_not_allowed");
      }
    });
    expect(reached).toBe(0);
  });

  const read = ["devices", "devices/set", "devices/set/apps", "devices/set/state", "config", "daemon/status", "health"];
  test.each([
    ...[...read.map((path) => `/v1/${path}`), "/openapi.json", "/app.js"].map((path) => [path, 200] as const),
    ...["/v1/devices/nobody", "/v1/devices/nobody/artwork", "/v1/nothing"].map((path) => [path, 404] as const),
  ])("HEAD %s is GET without the body, and says its type and length", async (path, status) => {
    const [got, head] = [await call(`GET ${path}`), await call(`HEAD ${path}`)];
    expect([got.status, head.status, head.body]).toEqual([status, status, ""]);
    expect(head.headers.get("content-type")).toBe(got.headers.get("content-type"));
    // How long zapd runs takes another digit now and then.
    if (!/uptime/.test(got.body)) expect(head.headers.get("content-length")).toBe(`${Buffer.byteLength(got.body)}`);
  });
});
