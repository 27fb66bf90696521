/** How the programs that renderers are built with differ, as observed (players.md 8). */

export type StackName = "kodi" | "gmediarender" | "rygel" | "tv";

const two = (value: number) => String(value).padStart(2, "0");
const clock = (hours: string, seconds: number) => `${hours}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
const hoursOf = (seconds: number) => Math.floor(seconds / 3_600);

/** What one of them is like; the values here are those of Kodi. */
export class Stack {
  manufacturer = "XBMC Foundation";
  model = "Kodi";
  server = "UPnP/1.0 DLNADOC/1.50 Kodi";
  /** The version of the device and service types. */
  version: 1 | 2 = 1;
  descriptionPath = (_uuid: string) => "/";
  idle: "STOPPED" | "NO_MEDIA_PRESENT" = "STOPPED";
  /** A UPnP error code; 200 means success without effect. */
  playNothing: 200 | 501 | 701 = 200;
  /** The result of setting media while something plays. */
  loadPlaying: 200 | 705 = 200;
  /** The result of Play for media that was set while something played, and so plays already. */
  playTakenOver: 200 | 701 = 200;
  /** While it waits for media that does not come, it begins with no other before it is stopped, and refuses Play. */
  waitsForFirst = false;
  pauseStopped: 200 | 501 | 701 = 200;
  unknownAction: 401 | 501 = 401;
  nextNothing: 200 | 501 | 711 = 200;
  volumeOver: "clamps" | "ignores" | "refuses" = "clamps";
  otherInstance: 200 | 718 = 718;
  /** The result for media without metadata, and for a missing file. */
  emptyMetadata: 200 | 714 = 200;
  missingFile: "ends" | 716 = "ends";
  time = (seconds: number) => clock(two(hoursOf(seconds)), seconds);
  unknownTime = "00:00:00";
  channel: "Channel" | "channel" = "Channel";
  /** The form of the current actions: always all, in capitals, or with vendor actions that contain escaped commas. */
  actions: "all" | "capitals" | "vendor" = "all";
  /** The duration of subscriptions in seconds, whatever was requested; null grants the request. */
  timeout: number | null = 1_800;
  /** Closes the connection after each call without announcing it. */
  oneCallEach = false;
  /** Reports volume 0 while muted, and rounds the volume. */
  hidesVolume = false;
}

const kodi = new Stack();

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
    waitsForFirst: true,
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
