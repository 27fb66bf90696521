import type { Hono } from "hono";
import {
  appIcon,
  artwork,
  controlPlayback,
  listChannels,
  listInputs,
  notify,
  playMedia,
  screenshot,
  selectChannel,
  selectInput,
  setVolume,
} from "../devices/controls.ts";
import { IconCache } from "../devices/pictures.ts";
import { mediaTypeOf } from "../system/media-types.ts";
import { iconsIn } from "../system/state-folder.ts";
import type { AppDependencies } from "./app.ts";
import { type Env, picture, route } from "./route.ts";

/** Controls beyond keys, each on devices that have it. */
export function controlRoutes(app: Hono<Env>, { devices, state }: AppDependencies): void {
  const icons = new IconCache(iconsIn(state));

  route(app, "setVolume", async ({ id, body, turn }) => {
    const device = devices.find(id);
    return device.actionResult("volume", await setVolume(device, body, turn));
  });

  route(app, "controlPlayback", async ({ id, body, turn }) => {
    const device = devices.find(id);
    return device.actionResult("playback", await controlPlayback(device, body.do, body.position_ms ?? 0, turn));
  });

  route(app, "playMedia", async ({ id, body, turn }) => {
    const device = devices.find(id);
    const { url, mime = mediaTypeOf(new URL(url).pathname), title = null, image = null } = body;
    return device.actionResult("media", { url, confirmed: await playMedia(device, { url, mime, title, image }, turn) });
  });

  route(app, "listInputs", async ({ id, signal }) => {
    const device = devices.find(id);
    const inputs = await listInputs(device, signal);
    return { device: device.describe(), inputs };
  });

  route(app, "selectInput", async ({ id, body, turn }) => {
    const device = devices.find(id);
    return device.actionResult("input", await selectInput(device, body.input, turn));
  });

  route(app, "listChannels", async ({ id, signal }) => {
    const device = devices.find(id);
    const channels = await listChannels(device, signal);
    return { device: device.describe(), channels };
  });

  route(app, "selectChannel", async ({ id, body, turn }) => {
    const device = devices.find(id);
    return device.actionResult("channel", await selectChannel(device, body.channel, turn));
  });

  route(app, "notify", async ({ id, body, turn }) => {
    const device = devices.find(id);
    await notify(device, body.message, turn);
    return device.actionResult("notify", {});
  });

  picture(app, "getIcon", (device, { context, signal }) =>
    appIcon(device, context.req.param("app") ?? "", icons, signal),
  );
  picture(app, "getArtwork", (device, { signal }) => artwork(device, signal));
  picture(app, "getScreenshot", (device, { signal }) => screenshot(device, signal));
}
