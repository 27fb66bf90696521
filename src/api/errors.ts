/**
 * The one error class, and the one table of error codes. The codes are a stable contract (SPEC.md 7); texts are for people.
 */

/** Exit statuses of the command line. */
export const exits = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  unreachable: 4,
  refused: 5,
  unsupported: 6,
  notRunning: 7,
} as const;

const invalid = { status: 400, exit: exits.usage } as const;
const forbidden = { status: 403, exit: exits.refused } as const;
const missing = { status: 404, exit: exits.notFound } as const;
const unreachable = { status: 500, exit: exits.unreachable } as const;
const refused = { status: 500, exit: exits.refused } as const;
const failed = { status: 500, exit: exits.failed } as const;
/** Requests of a valid form whose content is refused. */
const refusedInput = { status: 400, exit: exits.failed } as const;
const unsupported = { status: 400, exit: exits.unsupported } as const;

interface CodeEntry {
  readonly status: number;
  readonly exit: number;
  /** When it occurs, in Markdown. */
  readonly when: string;
  /** An example. */
  readonly message: string;
  readonly hint?: string;
  readonly details?: ErrorDetails;
}

/**
 * Every error code: its HTTP status, the exit status of the command line, and its documentation.
 */
export const codes = {
  invalid_payload: {
    ...invalid,
    when: "The body, the form, the query or the address is not valid for the operation",
    message: "The request is not valid: keys must have at least 1 entry",
  },
  invalid_key: {
    ...invalid,
    when: "The text is neither a key nor `literal:<text>`, or it cannot be held",
    message: '"hoem" is not a key',
    hint: "Did you mean home? The keys are: home, back, up, down, left, right, select, play, pause, play-pause, stop, rewind, fast-forward, replay, skip, volume-up, volume-down, mute, power, power-on, power-off, channel-up, channel-down, input-hdmi1, input-hdmi2, input-hdmi3, input-hdmi4, input-av, input-tuner, search, info, options; text is typed with literal:<text>",
  },
  unsupported_key: {
    ...unsupported,
    when: "The key is known, but this device does not have it; the hint lists those that it has",
    message: "Living Room has no stop key",
    hint: "It has: home, back, up, down, left, right, select, play, pause, play-pause, rewind, fast-forward, replay, volume-up, volume-down, mute, power, power-on, power-off, channel-up, channel-down, input-hdmi1, input-hdmi2, input-hdmi3, input-hdmi4, input-av, input-tuner, search, info, options",
  },
  unsupported_operation: {
    ...unsupported,
    when: "The device lacks the capability, or is on a platform that this zapd does not know",
    message: 'Bedroom cannot do that: it lacks the capability "dev"',
    hint: "Turn on its developer mode on the device, if it has one, then run zapd discover",
  },
  invalid_device_name: {
    ...invalid,
    when: "The name contains `/` or `%` (in a path: after it is decoded once), or a malformed escape, or is not allowed for another reason",
    message: "This is not a device name: it contains / or %, or a malformed escape",
    hint: "A name cannot contain / or %; in a path, encode it once (a space is %20)",
  },
  device_name_taken: {
    ...refusedInput,
    when: "Another device has the name, ignoring case",
    message: 'There is already a device called "Living Room"',
    hint: "Give it another name, or rename the other one first",
  },
  ambiguous_device: {
    ...invalid,
    when: "Several devices have the name, ignoring case, and none has it exactly",
    message: '"den" matches "Den" and "DEN"',
    hint: "Use the exact name, or the id",
  },
  ambiguous_app: {
    ...invalid,
    when: "Several apps match; the hint lists them",
    message: '"news" matches 2 apps',
    hint: 'Use the id of one: news-1201 ("News", 1201), news-1202 ("News", 1202)',
  },
  invalid_host: {
    ...invalid,
    when: "The address is malformed, its host is unknown, it is not that of one device, or it is that of zapd itself",
    message: '"224.0.0.1" cannot be a device\'s host: 224.0.0.1 is not the address of one device',
    hint: "Give the address of the device as its network settings show it, such as 192.168.1.40",
  },
  invalid_archive: {
    ...refusedInput,
    when: "The archive is not a ZIP file, is damaged, or is not a package; nothing was sent to the device",
    message: "The archive is not a ZIP, or is incomplete: it has no end of directory",
    hint: "Give the folder instead: zapd install ./my-app",
  },
  package_rejected: {
    ...refusedInput,
    when: "The device refused the package; `details` holds its compile errors",
    message:
      "Workbench could not compile the package: Install Failure: Compilation Failed.; Syntax Error. (compile error &h02) in pkg:/source/main.brs(3)",
    hint: "See the whole log: zapd logs -d Workbench",
    details: {
      problems: [
        { text: "Install Failure: Compilation Failed.", file: null, line: null },
        { text: "Syntax Error (compile error &h02)", file: "pkg:/source/main.brs", line: 3 },
      ],
    },
  },
  dev_password_missing: {
    status: 400,
    exit: exits.refused,
    when: "No developer password is set",
    message: "Installing on Workbench requires its developer password, but none is set",
    hint: "Set the one that was chosen on the device: zapd config set dev.vendor_password -",
  },
  unsupported_patch_value: {
    ...invalid,
    when: "A value is an array or an object",
    message: '"discovery.hosts" was given an array; a patch may have only strings, numbers, booleans and null',
    hint: 'Write a list as one comma-separated string, and nested keys with dots: {"daemon.http_port": 7272}',
  },
  unknown_config_key: {
    ...invalid,
    when: "A key is not a setting",
    message: '"daemon.http_prot" is not a setting',
    hint: "Did you mean daemon.http_port?",
  },
  invalid_config_value: {
    ...invalid,
    when: "A value has the wrong type, or is out of its range",
    message: "daemon.http_host must be a loopback address: 127.0.0.1, ::1 or localhost",
  },
  device_elsewhere: {
    status: 400,
    exit: exits.refused,
    when: "The device at the given address is known at another one, and still answers there, has secrets, or was paired with a different certificate: adding it never moves it. Or another device answers at the address of a pairing",
    message: "Den answers at 192.168.1.52:3001, its known address, but the device at 192.168.1.66:3001 claims to be it",
    hint: "Use it as Den, at 192.168.1.52:3001; if it has moved to 192.168.1.66:3001 for good: zapd pair Den --host 192.168.1.66:3001, which starts without the old key, or zapd forget Den, then zapd add 192.168.1.66:3001",
  },
  forbidden_host: {
    ...forbidden,
    when: "`Host` is not a name of this machine's loopback (so that DNS rebinding fails)",
    message: "The request was made to a host that is not this machine's loopback",
    hint: "Call zapd at http://127.0.0.1:7272/v1: use this address, not a name that resolves to it",
  },
  forbidden_origin: {
    ...forbidden,
    when: "A web page whose exact origin is not listed may only read what zapd remembers: it may neither control nor query a device (`x-reaches`)",
    message: 'A page of "http://example.org" may not control devices',
    hint: "To allow a page of yours, set daemon.cors_enabled to true and list its exact origin in daemon.cors_allowed_origins",
  },
  loop_detected: {
    ...forbidden,
    when: "The request is one of zapd's own calls to a device, routed back to zapd",
    message: "The request came from zapd itself, through a device",
  },
  device_not_found: {
    ...missing,
    when: "No known device has the id or the name",
    message: 'No device is called "Kitchen"',
    hint: "Known: Living Room, Bedroom, Workbench. Look for others with zapd discover",
  },
  default_device_missing: {
    ...missing,
    when: "The call is for `default`, and there is no default device",
    message: "No default device is set",
    hint: "Name a device, or choose a default: zapd default NAME",
  },
  app_not_found: {
    ...missing,
    when: "The device has no such app",
    message: 'Living Room has no app called "netflx"',
    hint: "Did you mean Netflix?",
  },
  dev_package_missing: {
    ...missing,
    when: "No package is sideloaded on the device",
    message: "Workbench has no sideloaded package",
    hint: "Install one: zapd install ./my-app -d Workbench",
  },
  not_found: {
    ...missing,
    when: "There is no such route; an empty `{id}` gives this too",
    message: "There is nothing at /v1/devices/",
    hint: "No route ends with /: leave it out",
  },
  method_not_allowed: {
    status: 405,
    exit: exits.usage,
    when: "The path does not support the method; the header `Allow` lists those that it supports",
    message: "/v1/devices does not support PUT",
    hint: "It supports GET, POST, DELETE, HEAD",
  },
  payload_too_large: {
    status: 413,
    exit: exits.usage,
    when: "The body is too large",
    message: "The body is larger than 1 MiB",
  },
  unsupported_media: {
    ...invalid,
    when: "The device cannot play this media",
    message: "Attic needs the type of the file, and the address does not show it",
    hint: "Give its type, such as video/mp4: --type of zapd play, `mime` of the API",
  },
  invalid_scene: {
    ...invalid,
    when: "A scene, or the steps of a request, have mistakes: nothing was run, and the message has a line for each mistake",
    message: 'movie-night.toml has 1 mistake:\nline 4, step 1: key: "hoem" is not a key. Did you mean home?',
    hint: "Nothing was run",
  },
  scene_not_found: {
    ...missing,
    when: "There is no scene with that name",
    message: 'There is no scene "movie"',
    hint: "Did you mean movie-night? The scenes are listed by zapd scenes; their files are /home/ada/.config/zapd/scenes/NAME.toml",
  },
  group_not_found: {
    ...missing,
    when: "No device has that label",
    message: 'No device has the label "bar"',
    hint: "Label a device: zapd label NAME add LABEL",
  },
  picture_not_found: {
    ...missing,
    when: "The device has no such picture, or its answer is not a picture",
    message: "Cinema has no picture of what is playing",
  },
  too_many_streams: {
    status: 429,
    exit: exits.failed,
    when: "64 streams are open over TCP, the maximum",
    message: "64 streams are already open",
    hint: "Close one, share one stream among the tabs of a page, or use the control socket, which has no such limit",
  },
  device_unreachable: {
    ...unreachable,
    when: "Nothing answers at the device's address, or another device does",
    message: "Bedroom did not answer at 192.168.1.41:8060 (no answer within 2 s) while pressing home",
    hint: "It may be asleep: try zapd key power-on -d Bedroom, or check that 192.168.1.41 is still its address with zapd discover",
  },
  device_timeout: {
    ...unreachable,
    when: "The device answered too late, or did not finish in time",
    message: "Bedroom did not answer within 5 s while reading its state",
    hint: "It may be asleep or busy: try zapd key power-on -d Bedroom, or give it more time with zapd config set devices.request_timeout_ms 10000",
  },
  device_refused: {
    ...refused,
    when: "The device's settings forbid it, or it cannot do it now",
    message: "Bedroom refused to press home: its network access is set to Limited",
    hint: "On the TV: Settings > System > Advanced system settings > Control by mobile apps > Network access: Enabled",
  },
  device_error: {
    ...failed,
    when: "The device failed, or its answer cannot be parsed",
    message: "Living Room closed the connection without an answer while listing its apps",
  },
  device_busy: {
    ...failed,
    when: "Other commands or installations occupy the device, another client is pairing with it, or the command waited while this machine slept; nothing was sent",
    message: "Living Room was busy with other commands for 5 s while pressing home",
    hint: "Nothing was sent. Try again when its sequence or installation is done",
  },
  device_leased: {
    ...refused,
    when: "Somebody else has a lease of the device; the hint and `details` say who, and until when. Or the lease of the call's token has ended. Reads are free",
    message: "Workbench is leased to ci@runner-3",
    hint: "ci@runner-3 has it until 2026-11-22T21:00:00.000Z (nightly run). To wait for it: zapd lease -d Workbench --wait 60s; to take it away: zapd lease break -d Workbench",
  },
  site_offline: {
    ...unreachable,
    when: "Only over a broker: the daemon of a site is offline, and commands do not wait for it",
    message: "lab2 is offline",
    hint: "Check that its daemon is running and reaches the broker. The command was not queued",
  },
  device_unproven: {
    ...refused,
    when: "The device that answers may be another one: it has moved and has secrets, two devices answer for it, other network hardware has its address, or its certificate is not that of the pairing. zapd sends it no pairing key, password or typed text until somebody trusts it or pairs it again",
    message:
      "Den moved from 192.168.1.52:3001 to 192.168.1.66:3001, and the device there may be another one: zapd sends it no pairing key, no password and no typed text",
    hint: "If the device at 192.168.1.66:3001 is the right one: zapd trust Den; if the one at 192.168.1.52:3001 is: zapd pair Den --host 192.168.1.52:3001. To start over without the old key: zapd pair Den --host 192.168.1.66:3001",
  },
  pairing_required: {
    ...refused,
    when: "The device accepts commands only from paired clients",
    message: "Kitchen accepts no commands: it is not paired with zapd",
    hint: "Run zapd pair Kitchen, and accept the request that the TV shows",
  },
  pairing_failed: {
    ...refused,
    when: "The device refused the pairing, or nobody accepted it on the TV; `reason` says which",
    message: "Kitchen refused the pairing: somebody declined the request on the TV",
    hint: "Run zapd pair Kitchen, and accept the request that the TV shows",
  },
  dev_auth_failed: {
    ...refused,
    when: "The device refused the developer password",
    message: "Workbench refused the developer password",
    hint: "Give the password of this device: zapd install PACKAGE --password - -d Workbench; or set the one for all devices without their own: zapd config set dev.vendor_password -",
  },
  dev_update_required: {
    ...failed,
    when: "The device accepts no package before it has checked for a software update",
    message: "Workbench stopped the installation: it must check for a software update first",
    hint: "On the TV: Settings > System > Software update > Check now, then install again",
  },
  console_in_use: {
    ...failed,
    when: "The developer console of the device serves another program",
    message: "Workbench already serves its developer console to another program",
    hint: "Close the editor, telnet or log viewer that is connected to it, then try again",
  },
  config_invalid: {
    ...failed,
    when: "The config file cannot be read, is not TOML, or has a wrong value; the daemon keeps its previous settings",
    message:
      "/home/ada/.config/zapd/config.toml, line 7, column 13: daemon.log_level must be one of error, warn, info, debug",
    hint: "Correct the file; a running daemon reads it again with zapd config reload",
  },
  storage_error: {
    ...failed,
    when: "A file of zapd could not be written, or the registry is full; nothing was changed",
    message: "/home/ada/.local/state/zapd/devices.json could not be written (ENOSPC)",
    hint: "Nothing was changed. Check that its folder exists, is writable, and is on a disk that is not full",
  },
  internal_error: {
    ...failed,
    when: "zapd itself failed; its log has the details",
    message: "zapd failed; its log has the details",
  },
} as const satisfies Record<string, CodeEntry>;

/** A stable, machine-readable error code. */
export type ErrorCode = keyof typeof codes;

/**
 * Any failure of zapd. `message` says what was attempted and what was found; `hint` names the setting or command that helps.
 * Adapters write `message` as a predicate ("did not answer within 5 s"): src/devices puts the device's name before it.
 */
export class ZapdError extends Error {
  override readonly name = "ZapdError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  /** Whether the message already names the device. */
  readonly namesDevice: boolean;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, message: string, { hint, cause, namesDevice = false, details }: ErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
    this.namesDevice = namesDevice;
    this.details = details;
  }

  /** The same failure with another message; its data stays. */
  reworded(message: string, options: ErrorOptions = {}): ZapdError {
    const { code, hint, namesDevice, details } = this;
    return new ZapdError(code, message, { hint, namesDevice, details, cause: this, ...options });
  }

  /** The HTTP status of this error's code. */
  get status(): number {
    return codes[this.code].status;
  }
}

/** Data of some failures, for programs. */
export interface ErrorDetails {
  /** The result of each device of a group, where none took a command. */
  readonly results?: readonly object[];
  /** Why a package was rejected, reason by reason. */
  readonly problems?: readonly PackageProblem[];
  /** The lease of a leased device; `null`: the lease of the caller has ended. */
  readonly lease?: { readonly owner: string; readonly until: string; readonly note: string | null } | null;
  /** Everything that is wrong with a scene. */
  readonly mistakes?: readonly object[];
}

/** One reason why a set rejected a package. */
export interface PackageProblem {
  readonly text: string;
  /** The file in the package; `null` where the set names none. */
  readonly file: string | null;
  /** The line in it, counted from 1. */
  readonly line: number | null;
}

export interface ErrorOptions {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  readonly namesDevice?: boolean;
  readonly details?: ErrorDetails | undefined;
}

/** How far an exchange with a device came. At `connect` nothing of a command has reached the device. */
export type DevicePhase = "connect" | "sent" | "answered";

/**
 * Why a pairing failed: a wrong code or password; nobody acted in time; somebody declined it at the device; the device is pairing
 * with another client; it was cancelled; the device closed the connection; the device broke the protocol.
 */
export const pairingReasons = ["wrong", "late", "denied", "busy", "cancelled", "closed", "protocol"] as const;
export type PairingReason = (typeof pairingReasons)[number];

/**
 * Why an exchange failed: the connection was refused; there is no route to the host; the connection was closed; no answer in
 * time; another device answers; the answer breaks the protocol; access is denied; the device is in standby; the device accepts
 * every client, so that there is no pairing; the device accepted the command, and did not do it.
 */
export type DeviceReason =
  | ("refused" | "no_route" | "timeout" | "wrong_device" | "asleep" | "open" | "no_effect")
  | PairingReason;

/** A failed exchange with a device. Code decides by its fields; the message is for people. */
export class DeviceError extends ZapdError {
  readonly phase: DevicePhase;
  readonly reason: DeviceReason;

  constructor(
    code: ErrorCode,
    message: string,
    { phase, reason, ...options }: ErrorOptions & { readonly phase: DevicePhase; readonly reason: DeviceReason },
  ) {
    super(code, message, options);
    this.phase = phase;
    this.reason = reason;
  }

  override reworded(message: string, options: ErrorOptions = {}): DeviceError {
    const { code, hint, namesDevice, details, phase, reason } = this;
    return new DeviceError(code, message, { hint, namesDevice, details, cause: this, ...options, phase, reason });
  }
}

/** Whether an exchange with a device failed for one of these reasons. */
export function hasReason(error: unknown, ...reasons: readonly DeviceReason[]): error is DeviceError {
  return error instanceof DeviceError && reasons.includes(error.reason);
}

/** A code from elsewhere; `internal_error` where zapd does not know it. */
export function toErrorCode(value: unknown): ErrorCode {
  return typeof value === "string" && Object.hasOwn(codes, value) ? (value as ErrorCode) : "internal_error";
}

export function hasCode(error: unknown, ...any: readonly ErrorCode[]): error is ZapdError {
  return error instanceof ZapdError && any.includes(error.code);
}

/** Another device answers at the address of the one that is meant. */
export function wrongDevice(host: string): DeviceError {
  return new DeviceError("device_unreachable", `is not at ${host} any more: another device answers there`, {
    phase: "connect",
    reason: "wrong_device",
    hint: "Find it at its new address: zapd discover; if it was reset or replaced: zapd forget {device}",
  });
}

/** A pairing failed; the message is a predicate. */
export function pairingFailed(reason: PairingReason, message: string, options: ErrorOptions = {}): DeviceError {
  return new DeviceError("pairing_failed", message, { ...options, phase: "answered", reason });
}

/** The device requires pairing, or no longer accepts ours. The phase is `connect` where it was not even asked. */
export function pairingRequired(
  problem: string,
  hint: string,
  phase: "connect" | "answered" = "answered",
): DeviceError {
  return new DeviceError("pairing_required", problem, { phase, reason: "denied", hint });
}

/** The device closed the connection before anything of a command reached it. */
export function closedBeforeSending(problem = "closed the connection", cause?: unknown): DeviceError {
  return new DeviceError("device_unreachable", problem, { phase: "connect", reason: "closed", cause });
}

/** The device reports that it is in standby: nothing was sent, and waking it helps. */
export function inStandby(hint = "It must be on for that: {wake}"): DeviceError {
  return new DeviceError("device_unreachable", "is in standby", { phase: "connect", reason: "asleep", hint });
}

/** The answer cannot be parsed, or does not belong to the request. */
export function protocolError(message: string, cause?: unknown): DeviceError {
  return new DeviceError("device_error", message, { phase: "answered", reason: "protocol", cause });
}

/** The `error` object of a received envelope; another version of zapd may have other codes. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly reason?: PairingReason | undefined;
  readonly details?: ErrorDetails | undefined;
}

/** The `error` object of the envelope (SPEC.md 2). */
export interface ErrorBody extends Failure {
  readonly code: ErrorCode;
}

export type Outcome<T> = { readonly ok: true; readonly data: T } | ({ readonly ok: false } & Failure);

/** The `error` object of a failure; only `pairing_failed` has a `reason`. */
export function errorBody(error: ZapdError): ErrorBody {
  const { code, message, hint, details } = error;
  const reason = code === "pairing_failed" && error instanceof DeviceError ? error.reason : undefined;
  const pairingReason = pairingReasons.find((one) => one === reason);
  return {
    code,
    message,
    ...(hint !== undefined && { hint }),
    ...(pairingReason && { reason: pairingReason }),
    ...(details && { details }),
  };
}

/** A `ZapdError` as it is; anything else thrown becomes an `internal_error`. */
export function toZapdError(thrown: unknown): ZapdError {
  return thrown instanceof ZapdError ? thrown : new ZapdError("internal_error", "zapd failed");
}

/** The text of anything thrown, for a log line or a `cause`. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** The system's code of a failure (`ENOENT`, `ECONNREFUSED` …), or an empty string. */
export function systemCode(thrown: unknown): string {
  return typeof thrown === "object" && thrown !== null && "code" in thrown ? String(thrown.code) : "";
}
