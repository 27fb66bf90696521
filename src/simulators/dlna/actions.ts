/** The actions of the services, with the refusals of each program (players.md 8). */
import { pushCapped } from "../bench/set.ts";
import { actionsOf, type ServiceName, SINK } from "./documents.ts";
import type { Model } from "./model.ts";

export type Args = Readonly<Record<string, string>>;
/** The values that an action returns, or the code of its error. */
export type Result = Args | number;

/** Executes an action. */
export function performAction(model: Model, service: ServiceName, action: string, args: Args): Result {
  const { stack } = model;
  if (!actionsOf(model, service).includes(action)) return stack.unknownAction;
  const instance = args["InstanceID"];
  if (service !== "ConnectionManager" && instance !== "0" && stack.otherInstance !== 200) return stack.otherInstance;
  if (action === "GetProtocolInfo") return { Source: "", Sink: SINK };
  const result = service === "AVTransport" ? transport(model, action, args) : rendering(model, action, args);
  if (typeof result !== "number" && !action.startsWith("Get")) {
    const given = Object.entries(args).filter(([name]) => /^(Desired\w+|Target|CurrentURI)$/.test(name));
    pushCapped(model.commands, [action, ...given.map(([, value]) => value)].join(" "));
    model.emit(action.startsWith("Set") && service === "RenderingControl" ? "volume" : "transport", action);
  }
  return result;
}

function transport(model: Model, action: string, args: Args): Result {
  const { stack, media } = model;
  const isIdle = isIdleNow(model);
  switch (action) {
    case "SetAVTransportURI":
      return load(model, args["CurrentURI"] ?? "", args["CurrentURIMetaData"] ?? "");
    case "GetMediaInfo":
      return mediaInfo(model);
    case "GetTransportInfo":
      if (model.options.hidesPlayback) return 501;
      return { CurrentTransportState: model.transport, CurrentTransportStatus: "OK", CurrentSpeed: "1" };
    case "GetPositionInfo":
      return positionInfo(model);
    case "GetCurrentTransportActions":
      return { Actions: possibleActions(model) };
    case "Play":
      if (media === null) return stack.playNothing === 200 ? {} : stack.playNothing;
      if (args["Speed"] !== "1") return 717;
      if (model.isTakenOver && model.transport === "PLAYING" && stack.playTakenOver !== 200) return stack.playTakenOver;
      if (model.transport === "TRANSITIONING" && stack.waitsForFirst) return 701;
      if (isStalled(media.uri)) model.wait();
      else model.play();
      if (isMissing(media.uri)) model.end();
      return {};
    case "Pause":
      if (isIdle) return stack.pauseStopped === 200 ? {} : stack.pauseStopped;
      model.pause();
      return {};
    case "Stop":
      if (!isIdle) model.stop();
      return {};
    case "Seek":
      return seek(model, args, isIdle);
    default:
      return stack.nextNothing === 200 ? {} : stack.nextNothing;
  }
}

const isIdleNow = ({ transport }: Model) => transport === "STOPPED" || transport === "NO_MEDIA_PRESENT";

/** The actions that are possible now, as the program lists them. Clients resume one that lists Play. */
export function possibleActions(model: Model): string {
  const isIdle = isIdleNow(model);
  const running = `${model.transport === "PAUSED_PLAYBACK" ? "Play" : "Pause"},Stop,Seek`;
  switch (model.stack.actions) {
    case "all":
      return "Play,Pause,Stop,Seek,Next,Previous";
    case "capitals":
      return isIdle ? "PLAY" : running.toUpperCase();
    case "vendor":
      return isIdle ? "" : `${running},X_DLNA_SeekTime,X_DLNA_PS=-1\\,1/2\\,2`;
  }
}

function load(model: Model, uri: string, metadata: string): Result {
  const { stack } = model;
  if (metadata === "" && stack.emptyMetadata !== 200) return stack.emptyMetadata;
  const type = /protocolInfo="http-get:\*:([^:"]+):/.exec(metadata)?.[1] ?? "*";
  if (stack.missingFile === 716 && type !== "*" && !SINK.includes(`:${type}:`)) return 714;
  if (isMissing(uri) && stack.missingFile === 716) return 716;
  if (model.transport === "PLAYING" && stack.loadPlaying !== 200) return stack.loadPlaying;
  if (model.transport === "PLAYING" && model.options.dropsWhilePlaying) return {};
  model.load({ uri, metadata });
  model.emit("play", `plays ${uri}`, uri);
  return {};
}

const isMissing = (uri: string) => /missing/.test(uri);
/** Its server takes the request, and does not answer it. */
const isStalled = (uri: string) => /stalled/.test(uri);

/** A time as the program writes it, or as it writes that there is none. */
function timeIn({ stack, media, transport: state }: Model, ms: number): string {
  const isIdle = media === null || state === "NO_MEDIA_PRESENT";
  return isIdle ? stack.unknownTime : stack.time(Math.floor(ms / 1_000));
}

function mediaInfo(model: Model): Args {
  const { media, options } = model;
  return {
    NrTracks: media ? "1" : "0",
    MediaDuration: timeIn(model, options.durationMs),
    CurrentURI: media?.uri ?? "",
    CurrentURIMetaData: media?.metadata ?? "",
    NextURI: "",
    NextURIMetaData: "",
    PlayMedium: media ? "NETWORK" : "NONE",
    RecordMedium: "NOT_IMPLEMENTED",
    WriteStatus: "NOT_IMPLEMENTED",
  };
}

function positionInfo(model: Model): Args {
  const { media, options, positionMs } = model;
  return {
    Track: media ? "1" : "0",
    TrackDuration: timeIn(model, options.durationMs),
    TrackMetaData: media?.metadata ?? "",
    TrackURI: media?.uri ?? "",
    RelTime: timeIn(model, positionMs),
    AbsTime: "NOT_IMPLEMENTED",
    RelCount: "2147483647",
    AbsCount: "2147483647",
  };
}

function seek(model: Model, { Unit, Target = "" }: Args, isIdle: boolean): Result {
  if (isIdle) return model.stack.pauseStopped === 200 ? {} : 701;
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d)(?:\.\d+)?$/.exec(Target) ?? [];
  if (Unit !== "REL_TIME") return 710;
  if (hours === undefined) return 711;
  model.seek(((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000);
  return {};
}

function rendering(model: Model, action: string, args: Args): Result {
  const { stack } = model;
  const { volumeMax } = model.options;
  if (args["Channel"] !== "Master") return 402;
  if (action === "GetMute") return { CurrentMute: model.muted ? "1" : "0" };
  if (action === "SetMute") {
    const wanted = /^(?:(1|true|yes)|0|false|no)$/i.exec(args["DesiredMute"] ?? "");
    if (wanted === null) return 402;
    model.muted = wanted[1] !== undefined;
    model.changed("RenderingControl");
    return {};
  }
  if (volumeMax === null) return stack.unknownAction;
  if (action === "GetVolume") return { CurrentVolume: String(stack.hidesVolume && model.muted ? 0 : model.volume) };
  const wanted = Number(args["DesiredVolume"] || Number.NaN);
  if (!Number.isInteger(wanted) || wanted < 0) return 402;
  if (wanted > volumeMax) {
    if (stack.volumeOver === "refuses") return 601;
    if (stack.volumeOver === "clamps") model.volume = volumeMax;
    return {};
  }
  // Converting to an internal scale rounds: 23 becomes 22.
  model.volume = stack.hidesVolume && wanted % 10 === 3 ? wanted - 1 : wanted;
  model.changed("RenderingControl");
  return {};
}
