/** From the first start of a Kodi to one that can be used. */
import { until } from "../http-device.ts";
import { plugin, script, tuner } from "./profile.ts";

/** For so long, and looked at so often: milliseconds. */
const patience = [60_000, 50] as const;

type Call = (method: string, params?: unknown) => Promise<unknown>;

/** A new Kodi asks whether it may enable each add-on that it found; then they are enabled by us, and the screen is the home one. */
export async function settle(call: Call, pvr: boolean): Promise<void> {
  const addons = [plugin, script];
  const isIn = async (id: number) => {
    const front = (await call("GUI.GetProperties", { properties: ["currentwindow"] })) as Front;
    return front.currentwindow.id === id;
  };
  await until("Kodi asked about its new add-ons", () => isIn(10_100), ...patience);
  let quiet = 0;
  const isQuiet = async () => {
    const asks = await isIn(10_100);
    // One that is still opening misses the key; the next one follows at once.
    if (asks) await call("Input.Back");
    quiet = asks ? 0 : quiet + 1;
    return quiet > 10;
  };
  await until("Kodi had no more questions", isQuiet, ...patience);
  for (const addonid of pvr ? [...addons, tuner] : addons)
    await call("Addons.SetAddonEnabled", { addonid, enabled: true });
  await until("Kodi was at home", () => isIn(10_000), ...patience);
  if (!pvr) return;
  const hasChannels = async () => {
    const answer = await call("PVR.GetChannels", { channelgroupid: "alltv" }).catch(() => null);
    return JSON.stringify(answer ?? "").includes("Zapd Two");
  };
  await until("Kodi had its channels", hasChannels, ...patience);
}

interface Front {
  readonly currentwindow: { readonly id: number };
}
