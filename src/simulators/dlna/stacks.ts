/** How the programs that renderers are built with differ, as observed (players.md 8). */

export type StackName = "kodi" | "gmediarender" | "rygel" | "tv";

export interface Stack {
  readonly manufacturer: string;
  readonly model: string;
  readonly server: string;
  /** The version of the device and service types. */
  readonly version: 1 | 2;
  readonly descriptionPath: (uuid: string) => string;
  readonly idle: "STOPPED" | "NO_MEDIA_PRESENT";
  /** A UPnP error code; 200 means success without effect. */
  readonly playNothing: 200 | 501 | 701;
  /** The result of setting media while something plays. */
  readonly loadPlaying: 200 | 705;
  /** The result of Play for media that was set while something played, and so plays already. */
  readonly playTakenOver: 200 | 701;
  readonly pauseStopped: 200 | 501 | 701;
  readonly unknownAction: 401 | 501;
  readonly nextNothing: 200 | 501 | 711;
  readonly volumeOver: "clamps" | "ignores" | "refuses";
  readonly otherInstance: 200 | 718;
  /** The result for media without metadata, and for a missing file. */
  readonly emptyMetadata: 200 | 714;
  readonly missingFile: "ends" | 716;
  readonly time: (seconds: number) => string;
  readonly unknownTime: string;
  readonly channel: "Channel" | "channel";
  /** The form of the current actions: always all, in capitals, or with vendor actions that contain escaped commas. */
  readonly actions: "all" | "capitals" | "vendor";
  /** The duration of subscriptions in seconds, whatever was requested; null grants the request. */
  readonly timeout: number | null;
  /** Closes the connection after each call without announcing it. */
  readonly oneCallEach: boolean;
  /** Reports volume 0 while muted, and rounds the volume. */
  readonly hidesVolume: boolean;
}

const two = (value: number) => String(value).padStart(2, "0");
const clock = (hours: string, seconds: number) => `${hours}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
const hoursOf = (seconds: number) => Math.floor(seconds / 3_600);

const kodi: Stack = {
  manufacturer: "XBMC Foundation",
  model: "Kodi",
  server: "UPnP/1.0 DLNADOC/1.50 Kodi",
  version: 1,
  descriptionPath: () => "/",
  idle: "STOPPED",
  playNothing: 200,
  loadPlaying: 200,
  playTakenOver: 200,
  pauseStopped: 200,
  unknownAction: 401,
  nextNothing: 200,
  volumeOver: "clamps",
  otherInstance: 718,
  emptyMetadata: 200,
  missingFile: "ends",
  time: (seconds) => clock(two(hoursOf(seconds)), seconds),
  unknownTime: "00:00:00",
  channel: "Channel",
  actions: "all",
  timeout: 1_800,
  oneCallEach: false,
  hidesVolume: false,
};

export const STACKS: Readonly<Record<StackName, Stack>> = {
  kodi,
  gmediarender: {
    ...kodi,
    manufacturer: "Ivo Clarysse, Henner Zeller",
    model: "gmediarender",
    server: "Linux/6.1, UPnP/1.0, Portable SDK for UPnP devices/1.8.4",
    descriptionPath: () => "/description.xml",
    playNothing: 501,
    pauseStopped: 501,
    unknownAction: 501,
    nextNothing: 501,
    volumeOver: "ignores",
    otherInstance: 200,
    time: (seconds) => clock(String(hoursOf(seconds)), seconds),
    unknownTime: "NOT_IMPLEMENTED",
    actions: "capitals",
    timeout: null,
    oneCallEach: true,
  },
  rygel: {
    ...kodi,
    manufacturer: "Rygel Developers",
    model: "Rygel",
    server: "Linux/6.1 UPnP/1.0 GUPnP/1.6.3",
    version: 2,
    descriptionPath: (uuid) => `/${uuid}.xml`,
    idle: "NO_MEDIA_PRESENT",
    playNothing: 701,
    playTakenOver: 701,
    pauseStopped: 701,
    nextNothing: 711,
    volumeOver: "refuses",
    missingFile: 716,
    time: (seconds) => `${clock(String(hoursOf(seconds)), seconds)}.032`,
    channel: "channel",
    actions: "vendor",
    timeout: 300,
    hidesVolume: true,
  },
  // TVs of LG and Samsung are reported to refuse media without metadata.
  tv: {
    ...kodi,
    manufacturer: "Lumora Electronics",
    model: "Lumora TV 43L520",
    server: "Linux/4.4 UPnP/1.0 Lumora/1.0",
    descriptionPath: () => "/dmr",
    idle: "NO_MEDIA_PRESENT",
    playNothing: 701,
    pauseStopped: 701,
    nextNothing: 711,
    emptyMetadata: 714,
    missingFile: 716,
    loadPlaying: 705,
    actions: "capitals",
    timeout: null,
  },
};
