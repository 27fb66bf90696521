/** How the programs differ that renderers are built with (players.md 8): what each was seen to do. */

export type StackName = "kodi" | "gmediarender" | "rygel" | "tv";

export interface Stack {
  readonly manufacturer: string;
  readonly model: string;
  readonly server: string;
  /** Of its device and its services. */
  readonly version: 1 | 2;
  readonly descriptionPath: (uuid: string) => string;
  readonly idle: "STOPPED" | "NO_MEDIA_PRESENT";
  /** UPnP codes; 200 is a yes without an effect. */
  readonly playNothing: 200 | 501 | 701;
  /** To what plays already, since it was handed over in the midst of something else. */
  readonly playTakenOver: 200 | 701;
  readonly pauseStopped: 200 | 501 | 701;
  readonly unknownAction: 401 | 501;
  readonly nextNothing: 200 | 501 | 711;
  readonly volumeOver: "clamps" | "ignores" | "refuses";
  readonly otherInstance: 200 | 718;
  /** What is refused of a file: one of which nothing is said, or that is not there. */
  readonly emptyMetadata: 200 | 714;
  readonly missingFile: "ends" | 716;
  readonly time: (seconds: number) => string;
  readonly unknownTime: string;
  readonly channel: "Channel" | "channel";
  /** What can be done now: as it is, in capitals, with words of its own that hold escaped commas, or always all. */
  readonly actions: "all" | "capitals" | "vendor";
  /** Seconds that a subscription is given, whatever was asked for. */
  readonly timeout: number | null;
  /** Each connection carries one call, and nobody says so. */
  readonly oneCallEach: boolean;
  /** Silent, its volume reads 0; and it is rounded down on the way. */
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
  // As sets of LG and Samsung are reported: they take nothing of which nothing is said.
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
    actions: "capitals",
    timeout: null,
  },
};
