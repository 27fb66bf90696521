/**
 * Reads the description of a UPnP device and of its services (Device Architecture 1.1, section 2). URLs of other hosts than the
 * device are ignored (SECURITY.md T6).
 */
import { protocolError } from "../api/errors.ts";
import type { Address } from "../platforms/platform.ts";
import { addressText } from "../system/text.ts";
import { child, childrenOf, childText, type Element, readXml } from "./xml.ts";

const maxPathLength = 2_048;
const maxUdnLength = 128;

/**
 * The device of a type in the description at a path of an address; it may be embedded in another. Fails with `device_error` where
 * there is none.
 */
export function readUpnp(text: string, at: Address, path: string, type: RegExp) {
  const root = readXml(text, "root");
  const device = deviceIn(child(root, "device"), type);
  const udn = (childText(device, "UDN") ?? "").replace(/^uuid:/i, "").toLowerCase();
  if (!device || udn === "" || udn.length > maxUdnLength) throw protocolError("is not a device of that type");
  const location = `http://${addressText(at)}${path}`;
  const base = childText(root, "URLBase");
  const from = base !== null && URL.canParse(base) ? base : location;
  const services = childrenOf(child(device, "serviceList"), "service");
  return {
    /** Its UDN, without `uuid:`, in lower case. */
    udn,
    /** A field of its description; `null` where it is absent or empty. */
    field: (name: string) => childText(device, name),
    /** The service of a name, whatever its version. */
    service(name: string) {
      const isWanted = (type: string) => /^[!#-~]{1,256}$/.test(type) && type.includes(`:service:${name}:`);
      const one = services.find((service) => isWanted(childText(service, "serviceType") ?? ""));
      const here = (name: string) => pathHere(childText(one, name), from, at);
      return (
        one && {
          /** With its version, as the device writes it. */
          type: childText(one, "serviceType") ?? "",
          /** Paths on the device; `null` where none is given, or a URL of another host. */
          control: here("controlURL"),
          events: here("eventSubURL"),
          document: here("SCPDURL"),
        }
      );
    },
  };
}

/** The first device of a type in a tree of embedded devices. */
function deviceIn(device: Element | undefined, type: RegExp): Element | undefined {
  if (!device) return undefined;
  if (type.test(childText(device, "deviceType") ?? "")) return device;
  for (const inner of childrenOf(child(device, "deviceList"), "device")) {
    const found = deviceIn(inner, type);
    if (found) return found;
  }
  return undefined;
}

/** The path of a URL in a description; `null` for a URL of another host. */
function pathHere(to: string | null, from: string, at: Address): string | null {
  if (to === null || !URL.canParse(to, from)) return null;
  const { origin, pathname, search } = new URL(to, from);
  const isHere = origin === new URL(`http://${addressText(at)}`).origin;
  const path = pathname + search;
  return isHere && path.length <= maxPathLength ? path : null;
}

/**
 * Reads the document of a service (SCPD): its actions, and the allowed values of its variables. Fails with `device_error` for
 * another document.
 */
export function readUpnpService(text: string) {
  const root = readXml(text, "scpd");
  const variables = childrenOf(child(root, "serviceStateTable"), "stateVariable");
  const variable = (name: string) => variables.find((one) => childText(one, "name") === name);
  return {
    /** Whether the document describes other variables, but not this one. */
    lacks: (name: string) => variables.length > 0 && !variable(name),
    actions: childrenOf(child(root, "actionList"), "action").flatMap((action) => childText(action, "name") ?? []),
    /** `null` where a variable has no valid range. */
    range(name: string) {
      const range = child(variable(name), "allowedValueRange");
      const number = (field: string, otherwise: number) => Number(childText(range, field) ?? otherwise);
      const [min, max, step] = [number("minimum", 0), number("maximum", Number.NaN), number("step", 1)];
      return Number.isFinite(max) && max > min ? { min, max, step: step > 0 ? step : 1 } : null;
    },
    values: (name: string) =>
      childrenOf(child(variable(name), "allowedValueList"), "allowedValue").map((value) => value.text),
  };
}
