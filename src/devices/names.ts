/** Names of devices and the `{id}` of a path (DESIGN.md 2.3). */
import { ZapdError } from "../api/errors.ts";
import { allWord, labelPrefix, meansGroup } from "../api/routes.ts";
import { caseFolded, nearest } from "../system/nearest.ts";

const maxName = 128;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const defaultWord = "default";

export interface NamedDevice {
  readonly id: string;
  readonly name: string;
}

/** Checks a name given by the user, and trims it. Fails with `invalid_device_name` or `device_name_taken`. */
export function checkName(given: string, others: readonly NamedDevice[]): string {
  const name = given.trim().normalize("NFC");
  const refuse = (reason: string) =>
    new ZapdError("invalid_device_name", `A device cannot be called ${JSON.stringify(given.slice(0, 160))}: ${reason}`);
  if (name.includes("/") || name.includes("%")) throw refuse("a name cannot contain / or %");
  if (name === "") throw refuse("a name must have at least one character");
  if (isDots(name)) throw refuse("in a path it means the folder itself, or the one above");
  if ([...name].length > maxName) throw refuse(`a name must have at most ${maxName} characters`);
  if (/\p{Cc}|\p{Cs}/u.test(name)) throw refuse("a name cannot contain control characters");
  if (uuid.test(name)) throw refuse("a name cannot have the form of an id");
  if (caseFolded(name) === defaultWord) throw refuse(`"${defaultWord}" means the default device`);
  if (caseFolded(name) === allWord) throw refuse(`"${allWord}" means all devices`);
  if (caseFolded(name).startsWith(labelPrefix)) throw refuse(`"${labelPrefix}" marks a label`);
  const taken = others.find((other) => caseFolded(other.name) === caseFolded(name));
  if (taken)
    throw new ZapdError("device_name_taken", `There is already a device called "${taken.name}"`, {
      hint: "Give it another name, or rename the other one first",
    });
  return name;
}

/** A valid name from what a device calls itself, with a number where it is taken. */
export function uniqueName(wanted: string, others: readonly Pick<NamedDevice, "name">[]): string {
  const clean = [
    ...wanted
      .normalize("NFC")
      .replace(/[/%\p{C}]/gu, " ")
      .replace(/\s+/g, " ")
      .trim(),
  ]
    .slice(0, maxName - 6)
    .join("")
    .trim();
  const isInvalid = isDots(clean) || uuid.test(clean) || caseFolded(clean).startsWith(labelPrefix);
  const base = clean === "" || isInvalid ? `Device ${clean.slice(0, 8)}`.trim() : clean;
  const taken = new Set([defaultWord, allWord, ...others.map((other) => caseFolded(other.name))]);
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base} ${number}`;
    if (!taken.has(caseFolded(name))) return name;
  }
}

/** The device that a path segment, decoded once, means; `null` means the default device. `byId` finds it by any of its ids. */
export function resolveName<D extends NamedDevice>(
  segment: string,
  devices: readonly D[],
  byId: (id: string) => D | undefined = (id) => devices.find((device) => device.id === id),
): D | null {
  const text = segment.trim().normalize("NFC");
  if (text.includes("/") || text.includes("%")) {
    throw new ZapdError("invalid_device_name", "This is not a device name: it contains / or %, or a malformed escape", {
      hint: "A name cannot contain / or %; in a path, encode it once (a space is %20)",
    });
  }
  if (uuid.test(text)) {
    const found = byId(text.toLowerCase());
    if (found) return found;
  }
  if (text === defaultWord) return null;
  // In a file that was edited by hand, two may have one name.
  const [exact, ...others] = devices.filter((device) => device.name === text);
  if (exact && others.length === 0) return exact;
  const alike = devices.filter((device) => caseFolded(device.name) === caseFolded(text));
  if (alike.length > 1) {
    throw new ZapdError(
      "ambiguous_device",
      `${JSON.stringify(text)} matches ${alike.map((device) => `"${device.name}"`).join(" and ")}`,
      { hint: "Use the exact name, or the id" },
    );
  }
  if (alike[0]) return alike[0];
  if (caseFolded(text) === defaultWord) return null;
  const isCalled = uuid.test(text) ? "has the id" : "is called";
  throw new ZapdError("device_not_found", `No device ${isCalled} ${JSON.stringify(text.slice(0, maxName))}`, {
    hint: knownHint(text, devices),
  });
}

export const noDevicesHint =
  "No device is known yet. Search with zapd discover, or add one by its address: zapd add 192.168.1.40";

export function removedError(): ZapdError {
  return new ZapdError("device_not_found", "The device is no longer known", { namesDevice: true });
}

function knownHint(text: string, devices: readonly NamedDevice[]): string {
  if (devices.length === 0) return noDevicesHint;
  const names = devices.map((device) => device.name);
  const meant = nearest(text, names);
  const known = `${names.slice(0, 8).join(", ")}${names.length > 8 ? " …" : ""}`;
  if (meansGroup(text)) return `${text} is a group, but this works on one device only. Known: ${known}`;
  return `${meant ? `Did you mean ${meant}? ` : ""}Known: ${known}. Look for others with zapd discover`;
}

/** URLs resolve these, even when they are encoded. */
function isDots(name: string): boolean {
  return name === "." || name === "..";
}

/** Whether two texts name the same input or channel, however they are written: `HDMI 1` and `hdmi1`. */
export function areAlike(one: string, other: string): boolean {
  return withoutSpaces(one) === withoutSpaces(other);
}

/** Between digits something stays, since channel 5-1 is 5.1, and not 51. */
const withoutSpaces = (name: string) =>
  caseFolded(name)
    .replace(/(?<=\d)[\s_-]+(?=\d)/g, ".")
    .replace(/[\s_-]+/g, "");
