import type { Hono } from "hono";
import {
  controlPlayback,
  listChannels,
  listInputs,
  notify,
  playMedia,
  selectChannel,
  selectInput,
} from "../devices/controls.ts";
import { appIcon, artwork, screenshot } from "../devices/pictures.ts";
import { setVolume } from "../devices/volume.ts";
import { mediaTypeOf } from "../system/media-types.ts";
import { iconsIn } from "../system/state-folder.ts";
import type { AppDependencies } from "./app.ts";
import { deviceRoute, type Env, picture } from "./route.ts";

/** Controls beyond keys, each on devices that have it. */
export function controlRoutes(app: Hono<Env>, { state }: AppDependencies): void {
  const icons = iconsIn(state);

  deviceRoute(app, "setVolume", async (device, { body, turn }) =>
    device.actionResult("volume", await setVolume(device, body, turn)),
  );

  deviceRoute(app, "controlPlayback", async (device, { body, turn }) =>
    device.actionResult("playback", await controlPlayback(device, body.do, body.position_ms ?? 0, turn)),
  );

  deviceRoute(app, "playMedia", async (device, { body, turn }) => {
    const { url, mime = mediaTypeOf(new URL(url).pathname), title = null, image = null } = body;
    return device.actionResult("media", { url, confirmed: await playMedia(device, { url, mime, title, image }, turn) });
  });

  deviceRoute(app, "listInputs", async (device, { isUse, signal }) => {
    const inputs = await listInputs(device, signal, isUse);
    return { device: device.describe(), inputs };
  });

  deviceRoute(app, "selectInput", async (device, { body, turn }) =>
    device.actionResult("input", await selectInput(device, body.input, turn)),
  );

  deviceRoute(app, "listChannels", async (device, { signal }) => {
    const channels = await listChannels(device, signal);
    return { device: device.describe(), channels };
  });

  deviceRoute(app, "selectChannel", async (device, { body, turn }) =>
    device.actionResult("channel", await selectChannel(device, body.channel, turn)),
  );

  deviceRoute(app, "notify", async (device, { body, turn }) => {
    await notify(device, body.message, turn);
    return device.actionResult("notify", {});
  });

  picture(app, "getIcon", (device, { context, signal }) =>
    appIcon(device, context.req.param("app") ?? "", icons, signal),
  );
  picture(app, "getArtwork", (device, { signal }) => artwork(device, signal));
  picture(app, "getScreenshot", (device, { signal }) => screenshot(device, signal));
}
