/** Registries of any size, of devices as zapd would have learned them from real sets. None of them is there to answer. */
import { type DeviceRecord, idOf, newRecord, withLearned } from "../../../src/devices/record.ts";
import type { Facts, Sighting } from "../../../src/platforms/platform.ts";

/** So many devices, `TV 0` and so on, at addresses where nothing answers. */
export function devicesOf(count: number): DeviceRecord[] {
  const records: DeviceRecord[] = [];
  for (let at = 0; at < count; at++) {
    const hex = at.toString(16).padStart(6, "0");
    const facts: Facts = {
      serial: `X0BENCH${hex}`,
      name: `TV ${at}`,
      kind: "tv",
      manufacturer: "Lumora",
      model: "43L520",
      macs: [`02:be:7c:${hex.match(/../g)?.join(":")}`],
      softwareVersion: "15.2.4",
      access: "full",
    };
    const memory = { volume: true, power: true, inputs: true, developer: false };
    const sighting: Sighting = { identity: `X0BENCH${hex}`, facts, memory, pairing: "none" };
    const address = { host: `127.250.${at >> 8}.${at & 255}`, port: 8060 };
    const record = newRecord(records, idOf("roku", sighting.identity), { platform: "roku", sighting, address });
    records.push(withLearned(record, sighting, records));
  }
  return records;
}
