/** A platform of eighty lines, a table and three functions: what the eleventh one costs. Its devices are those of stub-set.ts. */
import { z } from "zod";
import { DeviceError, pairingFailed, ZapdError } from "../../src/api/errors.ts";
import type { Capability, Key, Pairing, Platform, Sighting, Target } from "../../src/platforms/platform.ts";
import { type Answer, bodyText, DeviceHttp, type Read } from "../../src/transport/http.ts";
import { asJson, readJson, text } from "../../src/transport/json.ts";

/** The keys, by the device's own words. */
const words = new Map<Key, string>([
  ["home", "HOME"],
  ["volume-up", "VOL+"],
  ["mute", "MUTE"],
]);
const has: ReadonlySet<Capability> = new Set(["state", "keys", "pair"]);
const [none, wantsKey] = [new Set<Capability>(), new Set<Capability>(["state", "keys"])];
const secret = z.object({ key: z.string() });
type Secret = z.infer<typeof secret>;

/** What a device says of itself to everybody. */
async function who(read: Read): Promise<Sighting<object>> {
  const said = asJson(readJson(bodyText(await read("/who"))));
  const [identity, name, mac] = [text(said["id"]), text(said["name"]), text(said["mac"])];
  if (identity === null) throw new ZapdError("device_error", "is none of these");
  const unknown = { manufacturer: null, model: null, serial: null, softwareVersion: null, access: null };
  const facts = { ...unknown, name, kind: "tv" as const, macs: mac === null ? [] : [mac] };
  return { identity, facts, memory: {}, pairing: "required" };
}

/** The platform; its devices announce themselves as `_<service>._tcp`. */
export function stubPlatform(service: string): Platform<object, Secret> {
  return {
    name: "stub",
    ports: { control: 7_007 },
    queries: [{ over: "mdns", type: `_${service}._tcp`, read: ({ source, port }) => ({ host: source, port }) }],
    memory: z.object({}),
    secret,
    isAppId: () => false,
    describe: (_facts, _memory, paired) => ({ has, withheld: paired ? none : wantsKey, keys: new Set(words.keys()) }),
    async identify(lead, platformHost, signal) {
      const http = new DeviceHttp({ address: lead, platformHost });
      return who((path) => http.read(path, signal)).finally(() => http.close());
    },
    async pair(device, platformHost, signal): Promise<Pairing<object, Secret>> {
      const http = new DeviceHttp({ address: device, platformHost });
      await http.command("/pair", signal);
      const enter = async (code: string) => {
        const answer = await http.command(`/pair?code=${code}`, AbortSignal.timeout(platformHost.requestTimeoutMs()));
        if (answer.status !== 200) throw pairingFailed("wrong", "does not show this code");
        return { secret: { key: bodyText(answer) }, facts: { access: "full" as const } };
      };
      return { step: "code", form: "digits", length: 4, expiresMs: 60_000, enter, cancel: () => http.close() };
    },
    connect(device, platformHost) {
      const prove = async (read: Read) => isIt(device, await who(read));
      const http = new DeviceHttp({ address: device, platformHost, prove });
      const path = (what: string) => `/${what}?key=${device.secret.read()?.key ?? ""}`;
      return {
        state: {
          async read(signal) {
            const said = asJson(readJson(bodyText(letIn(await http.read(path("state"), signal, { proven: true })))));
            const volume = { level: Number(said["volume"]), muted: said["muted"] === true };
            return { power: "on", app: null, screensaver: null, playback: null, volume, input: null };
          },
        },
        keys: { press: async (key, signal) => void letIn(await http.command(path(words.get(key) ?? ""), signal)) },
        close: () => http.close(),
      };
    },
  };
}

function isIt({ identity }: Target<object, Secret>, found: Sighting<object>): void {
  if (found.identity === identity) return;
  throw new DeviceError("device_unreachable", "is another device", { phase: "connect", reason: "wrong_device" });
}

function letIn(answer: Answer): Answer {
  if (answer.status === 200) return answer;
  throw new ZapdError("pairing_required", "lets nobody in before it is paired with");
}
