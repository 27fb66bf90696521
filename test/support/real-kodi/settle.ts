/** From the first start of a Kodi to one that can be used. */
import { plugin, script, tuner } from "./profile.ts";

type Call = (method: string, params?: unknown) => Promise<unknown>;

/** A new Kodi asks whether it may enable each add-on that it found; then they are enabled by us, and the screen is the home one. */
export async function settle(call: Call, pvr: boolean): Promise<void> {
  const addons = [plugin, script];
  const isIn = async (id: number) => {
    const front = (await call("GUI.GetProperties", { properties: ["currentwindow"] })) as Front;
    return front.currentwindow.id === id;
  };
  await until(() => isIn(10_100), "Kodi asked about its new add-ons");
  let quiet = 0;
  await until(async () => {
    const asks = await isIn(10_100);
    // One that is still opening misses the key; the next one follows at once.
    if (asks) await call("Input.Back");
    quiet = asks ? 0 : quiet + 1;
    return quiet > 10;
  }, "Kodi had no more questions");
  for (const addonid of pvr ? [...addons, tuner] : addons)
    await call("Addons.SetAddonEnabled", { addonid, enabled: true });
  await until(() => isIn(10_000), "Kodi was at home");
  if (!pvr) return;
  await until(async () => {
    const answer = await call("PVR.GetChannels", { channelgroupid: "alltv" }).catch(() => null);
    return JSON.stringify(answer ?? "").includes("Zapd Two");
  }, "Kodi had its channels");
}

interface Front {
  readonly currentwindow: { readonly id: number };
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = performance.now() + 20_000; performance.now() < end; await Bun.sleep(50)) if (await holds()) return;
  throw new Error(`not within 20 s: ${what}`);
}
