/** The year of the firmware, not of the set: older sets get newer firmware (smart-tvs.md 0). */
export type FirmwareYear = "2015" | "2018" | "2021" | "2023" | "2026";

/** How firmware versions differ; each difference can be set by itself. The values here are those of the oldest. */
export class Firmware {
  /** The `deviceOSReleaseVersion` of the hello, also in the Server header of the description. */
  release = "2.2.3";
  /** Sets before 2018 have no secure port (smart-tvs.md 2.2). */
  secure = false;
  /** From 2022 on the plain port accepts TCP and resets the upgrade (smart-tvs.md 2.2). */
  plain: "answers" | "resets" = "answers";
  /**
   * A manifest with a `signed` part is honoured; or permissions that only the signed part asks for are silently dropped
   * (aiowebostv#729); or pairing is refused before any prompt, even with a known key (home-assistant/core#172703).
   */
  signed: "honoured" | "dropped" | "refused" = "honoured";
  /** The `pairingTypes` of the hello. */
  pairingTypes: readonly string[] = ["PIN", "PROMPT", "COMBINED"];
  /** The response to the optional hello, without its `id` as of some firmware (smart-tvs.md 2.3). */
  hello: "without-id" | "none" = "without-id";
  /** Newer firmware answers `getSystemInfo` only before registration (smart-tvs.md 2.3), some older only after it. */
  systemInfo: "always" | "before-registration" | "after-registration" = "always";
  /** Whether `volume` and `muted` are at the top or within `volumeStatus` (smart-tvs.md 2.4). */
  volume: "flat" | "nested" = "flat";
  /** Whether it has `getPowerState`: webOS 2.x answers 404 (smart-tvs.md 2.4). */
  powerState = false;
  /** Whether it has `com.webos.media/getForegroundAppInfo`: 404 on a webOS 6 C1 (smart-tvs.md 2.4). */
  media = false;
  /** The service of `turnOffScreen` and `turnOnScreen`: `tv.power` before webOS 5 (smart-tvs.md 2.4). */
  screen: "tvpower" | "tv.power" = "tv.power";
  /** The app that plays a URL (CONTROLS.md). */
  mediaApp = "com.webos.app.smartshare";
  /** Whether Home is an app that covers the screen; before, it was an overlay. */
  homeApp = false;
}

const webos2 = new Firmware();
const webos4: Firmware = {
  ...webos2,
  release: "4.4.3",
  secure: true,
  powerState: true,
  mediaApp: "com.webos.app.photovideo",
};
const webos6: Firmware = {
  ...webos4,
  release: "6.4.0",
  volume: "nested",
  screen: "tvpower",
  homeApp: true,
  mediaApp: "com.webos.app.mediadiscovery",
};
const webos23: Firmware = {
  ...webos6,
  release: "8.2.1",
  plain: "resets",
  signed: "dropped",
  systemInfo: "before-registration",
  media: true,
};

/** Release 11.2.0 is that of sets with the blacklist (smart-tvs.md 2.3). */
export const FIRMWARE: Readonly<Record<FirmwareYear, Firmware>> = {
  "2015": webos2,
  "2018": webos4,
  "2021": webos6,
  "2023": webos23,
  "2026": {
    ...webos23,
    release: "11.2.0",
    signed: "refused",
    pairingTypes: [...webos23.pairingTypes, "LGSWITCH-PIN"],
  },
};
