/** What a real Kodi finds when it starts: settings, two add-ons of ours, favourites, a clip. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const plugin = "plugin.video.zapdtest";
export const script = "script.zapdtest";

const nameOfAddon: Readonly<Record<string, string>> = {
  [plugin]: "Zapd Test Videos",
  [script]: "Zapd Test Script",
};
export const tuner = "pvr.iptvsimple";

export interface ProfileOptions {
  readonly name: string;
  /** Asked of the user `kodi` over HTTP; never on 9090. */
  readonly password: string | null;
  readonly pvr: boolean;
  /** It is a DLNA renderer, too. */
  readonly renderer?: boolean;
  readonly clip: string;
}

export function writeProfile(folder: string, options: ProfileOptions): void {
  const files: Readonly<Record<string, string>> = {
    "dbus.conf": busConfig(folder),
    "avahi.conf":
      "[server]\nhost-name=zapd-kodi\nuse-ipv6=no\nallow-interfaces=eth0\n[wide-area]\nenable-wide-area=no\n",
    ".kodi/userdata/guisettings.xml": settings(options),
    ".kodi/userdata/favourites.xml": favourites(options.clip),
    [`.kodi/addons/${plugin}/addon.xml`]: manifest(plugin, "xbmc.python.pluginsource", "video"),
    [`.kodi/addons/${plugin}/default.py`]: pluginCode(options.clip),
    [`.kodi/addons/${script}/addon.xml`]: manifest(script, "xbmc.python.script", "executable"),
    [`.kodi/addons/${script}/default.py`]: scriptCode,
    ...(options.pvr ? channels(folder, options.clip) : {}),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

/** Two minutes of video with sound, or so many seconds; made once for this machine. */
export function clipFile(kind: "video" | "audio", seconds = 120): string {
  const [ending, codec] = kind === "video" ? ["mp4", videoArguments] : ["m4a", []];
  const path = join(tmpdir(), `zapd-kodi-${kind}${seconds === 120 ? "" : `-${seconds}`}.${ending}`);
  if (existsSync(path)) return path;
  const making = `${path}.${process.pid}.${ending}`;
  const sound = [
    "-f",
    "lavfi",
    "-i",
    "sine=440",
    "-t",
    String(seconds),
    "-c:a",
    "aac",
    "-metadata",
    `title=Zapd ${kind} clip`,
  ];
  execFileSync("ffmpeg", ["-loglevel", "error", "-y", ...codec.slice(0, 4), ...sound, ...codec.slice(4), making]);
  renameSync(making, path);
  return path;
}

const videoArguments = [
  "-f",
  "lavfi",
  "-i",
  "testsrc=size=320x180:rate=24",
  "-c:v",
  "libx264",
  "-preset",
  "ultrafast",
  "-pix_fmt",
  "yuv420p",
  "-g",
  "24",
];

function settings({ name, password, renderer = false }: ProfileOptions): string {
  const values = {
    "services.devicename": name,
    "services.zeroconf": true,
    "services.webserver": true,
    "services.webserverport": 8080,
    "services.webserverauthentication": password !== null,
    "services.webserverusername": "kodi",
    "services.webserverpassword": password ?? "",
    "services.esenabled": true,
    "services.esallinterfaces": true,
    "services.upnp": renderer,
    "services.upnprenderer": renderer,
    "addons.unknownsources": true,
    "general.addonupdates": 2,
  };
  const lines = Object.entries(values).map(([id, value]) => `<setting id="${id}">${value}</setting>`);
  return `<settings version="2">\n${lines.join("\n")}\n</settings>\n`;
}

function busConfig(folder: string): string {
  const rules = ['user="*"', 'own="*"', 'send_destination="*"', 'eavesdrop="true"'].map((rule) => `<allow ${rule}/>`);
  return `<busconfig><type>system</type><listen>unix:path=${folder}/bus</listen><auth>EXTERNAL</auth><policy context="default">${rules.join("")}</policy></busconfig>\n`;
}

function favourites(clip: string): string {
  return [
    "<favourites>",
    `<favourite name="The Clip">PlayMedia(&quot;${clip}&quot;)</favourite>`,
    `<favourite name="Test Videos">ActivateWindow(10025,&quot;plugin://${plugin}/&quot;,return)</favourite>`,
    `<favourite name="Test Script">RunScript(&quot;${script}&quot;)</favourite>`,
    "</favourites>\n",
  ].join("\n");
}

function manifest(id: string, point: string, provides: string): string {
  const name = nameOfAddon[id];
  return `<?xml version="1.0" encoding="UTF-8"?>
<addon id="${id}" name="${name}" version="1.2.3" provider-name="zapd">
  <requires><import addon="xbmc.python" version="3.0.0"/></requires>
  <extension point="${point}" library="default.py"><provides>${provides}</provides></extension>
  <extension point="xbmc.addon.metadata"><summary lang="en">${name}</summary><platform>all</platform></extension>
</addon>
`;
}

/** What the tuner add-on reads: a list of two channels. */
function channels(folder: string, clip: string): Record<string, string> {
  const list = ["One", "Two"].map((name) => `#EXTINF:-1 tvg-id="${name}",Zapd ${name}\n${clip}`);
  const values = { m3uPathType: 0, m3uPath: join(folder, "channels.m3u") };
  const lines = Object.entries(values).map(([id, value]) => `<setting id="${id}">${value}</setting>`);
  return {
    "channels.m3u": `#EXTM3U\n${list.join("\n")}\n`,
    [`.kodi/userdata/addon_data/${tuner}/settings.xml`]: `<settings version="2">\n${lines.join("\n")}\n</settings>\n`,
  };
}

/** A folder with the clip in it; `?play` plays it. What it was called with is in a property of the home window. */
function pluginCode(clip: string): string {
  return `import sys, xbmcgui, xbmcplugin
handle = int(sys.argv[1])
xbmcgui.Window(10000).setProperty("zapdtest.plugin", sys.argv[0] + sys.argv[2])
if sys.argv[2].startswith("?play"):
    xbmcplugin.setResolvedUrl(handle, True, xbmcgui.ListItem("Zapd clip", path=${JSON.stringify(clip)}))
else:
    item = xbmcgui.ListItem("Zapd clip")
    item.setProperty("IsPlayable", "true")
    item.setInfo("video", {"title": "Zapd clip"})
    xbmcplugin.addDirectoryItem(handle, sys.argv[0] + "?play=clip", item, False)
    xbmcplugin.endOfDirectory(handle)
`;
}

/** Opens the dialog that its first word names. */
const scriptCode = `import sys, xbmc, xbmcgui
home = xbmcgui.Window(10000)
words = sys.argv[1:]
home.clearProperty("zapdtest.said")
home.setProperty("zapdtest.script", " ".join(words) or "started")
what = words[0].split("=")[-1] if words else ""
said = None
if what == "yes-no":
    said = xbmcgui.Dialog().yesno("Zapd", "Really?")
elif what == "ok":
    said = xbmcgui.Dialog().ok("Zapd", "Seen?")
elif what == "context-menu":
    said = xbmcgui.Dialog().contextmenu(["one", "two"])
elif what == "select":
    said = xbmcgui.Dialog().select("Zapd", ["one", "two"])
elif what == "keyboard":
    said = xbmcgui.Dialog().input("Zapd")
elif what == "number":
    said = xbmcgui.Dialog().input("Zapd", type=xbmcgui.INPUT_NUMERIC)
home.setProperty("zapdtest.said", repr(said))
`;
