import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { ZapdError } from "../../../src/api/errors.ts";
import type { PlatformHost } from "../../../src/platforms/platform.ts";
import { roku } from "../../../src/platforms/roku/adapter.ts";
import { Ecp, paths } from "../../../src/platforms/roku/ecp.ts";
import type { RokuMemory, RokuTarget } from "../../../src/platforms/roku/identity.ts";
import { loopHeader } from "../../../src/transport/socket.ts";
import { answer, type HttpDevice, startHttpDevice } from "../../support/http-device.ts";
import { nobody, platformHostOf, targetOf } from "../../support/platform-host.ts";

const never = new AbortController().signal;
const serial = "X1";
const info = `<device-info><serial-number>${serial}</serial-number><is-tv>true</is-tv></device-info>`;
let set: HttpDevice;
let target: RokuTarget;
let platformHost: PlatformHost;

beforeAll(async () => {
  set = await startHttpDevice(({ target }) => {
    if (target === "/query/device-info") return answer(200, info);
    if (target === "/query/active-app") return answer(200, '<active-app><app id="12">N</app></active-app>');
    return answer(200);
  });
  platformHost = platformHostOf();
  const sighting = await roku.identify(set.address, platformHost, never);
  ({ target } = targetOf<RokuMemory, unknown>(sighting, set.address));
});
afterAll(() => set.stop());

/** What the set hears must be these lines and no others, whatever was asked for. */
const lines = (line: string) => [
  `${line} HTTP/1.1`,
  `Host: ${set.address.host}:${set.address.port}`,
  `${loopHeader}: 1`,
  ...(line.startsWith("POST") ? ["Content-Length: 0"] : []),
];

test("hostile ids, parameters and texts make exactly one request line, and our own headers", async () => {
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
  const ecp = new Ecp(target, platformHost, nobody);
  await fc.assert(
    fc.asyncProperty(text, text, text, async (id, name, value) => {
      const before = set.heard.length;
      await ecp.command(paths.launch(id, { [name]: value }), "launch", never);
      await ecp.command(paths.exit(id), "leave", never);
      await ecp.command(paths.key(id), "press", never);
      const heard = set.heard.slice(before).filter((one) => one.target !== paths.deviceInfo);
      expect(heard.length).toBe(3);
      for (const { head, target, method } of heard) {
        expect(head.split("\r\n")).toEqual(lines(`${method} ${target}`));
        expect(target).toMatch(/^\/(launch|exit-app|keypress)\/[\x21-\x7e]*$/);
      }
    }),
    { numRuns: 1_500 },
  );
  ecp.http.close();
});

test("a redirect of a set is an error of the set, wherever it leads", async () => {
  const elsewhere = await startHttpDevice(() => answer(200));
  for (const status of [301, 302, 303, 307, 308]) {
    for (const location of [
      `http://127.0.0.1:${elsewhere.address.port}/v1/x`,
      "file:///etc/passwd",
      "data:text/plain,x",
      "/",
    ]) {
      const turning = await startHttpDevice(({ target, method }) =>
        target === paths.deviceInfo && method === "GET"
          ? answer(200, info)
          : answer(status, "", [`Location: ${location}`]),
      );
      const ecp = new Ecp({ ...target, ...turning.address }, platformHost, nobody);
      for (const work of [ecp.document(paths.apps, "list", never), ecp.command(paths.key("Home"), "press", never)]) {
        const error = await work.catch((thrown: ZapdError) => thrown);
        expect(error).toMatchObject({ code: "device_error" });
      }
      ecp.http.close();
      await turning.stop();
    }
  }
  expect(elsewhere.taken).toBe(0);
  await elsewhere.stop();
});
