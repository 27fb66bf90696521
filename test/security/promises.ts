/** The threats and the targets, by the ids that begin the titles of their tests; README.md shows them with these tests. */

import { sourcesIn } from "../support/sources.ts";

/** The threats, with what must hold. */
export const threats = {
  T1: "a web page presses keys with requests that browsers send without asking: refused, and nothing is done",
  T2: "a web page reaches the loopback by a host name of its own (DNS rebinding): refused, reads as well",
  T3: "a web origin that is almost a listed one: exact matches only, no wildcard, no `null`",
  T4: "a web page learns something without reading the answer: headers prevent it, and simultaneous reads cost the TV one call",
  T5: "a device answers with a redirect, or makes zapd call itself: never followed, and recognised as zapd's own call",
  T6: "an answer to a search names another address: zapd asks only the sender",
  T7: "a caller gives an address that no device can have: refused, and the raw bytes of an answer are never shown",
  T8: "XML that grows when it is parsed: no entities, limited in bytes, depth and elements",
  T9: "a device that answers too much, too slowly, or with garbage: an error within the deadline",
  T10: "a WebSocket that floods: limited messages and fragments, no compression",
  T11: "line breaks and slashes in names, ids and texts: exactly the intended request reaches the device",
  T12: "names that write into logs and terminals: JSON lines, and no control characters",
  T13: "secrets in answers, logs, errors, command lines: only in their file",
  T14: "links and other users' files in place of zapd's own: not followed, modes 0600 and 0700",
  T15: "another user at the control socket: refused by its mode",
  T16: "two daemons, or a socket that was left behind: only one runs, and it replaces only a dead socket",
  T17: "another program has the port: zapd says so, and sends it no secret",
  T18: "requests that two programs can parse differently: refused, or parsed in only one way",
  T19: "callers that send nothing, or very slowly: disconnected (under Deno only in a body), and zapd keeps working",
  T20: "bodies that are too large, too deep, or never end: 413 or 400, with limited memory",
  T21: "packages with paths outside their folder, or that grow: refused, never unpacked, removed from the disk afterwards",
  T22: "malformed forms: one file, few parts, read as a stream",
  T23: "config patches with unexpected keys: known keys only, all or nothing, the file stays readable",
  T24: "devices that fill or falsify the stored state: limited and typed; an address changes only with a matching identity",
  T25: "packages that zapd depends on: few, pinned, without scripts; two builds are identical",
  T26: "a runtime that changes a default: pinned, and the same tests run on each",
  T27: "a stranger at a known address: it gets no key, no password, no digest and no typed text",
  T28: "another user redirects a known device: adding by address never moves it",
  T29: "a stranger answers for a silent device: on probation, it gets nothing secret until somebody confirms it",
  T30: "the network fills the registry: few devices from each host, and always room for the user's own",
  T31: "guesses at stored secrets: answers and their timing tell a foreign page nothing",
  T32: "a stranger takes the default device's name: the default is kept by its id",
  T33: "foreign pages at the streams and at `/mcp`: none is opened and none takes a slot, at most 64 over TCP; `/mcp` requires its token from everybody; pictures from devices are recognised by their bytes",
  T34: "many small items: counted before they are parsed, stored within a byte limit",
  T35: "the user's own files in place of zapd's: neither followed nor removed",
  T36: "somebody else calls the listener that zapd opened for a device: bound to the address that faces the device, it accepts only that device, on a path that nobody can guess, for a subscription of zapd; the content is not read",
} as const satisfies Record<`T${number}`, string>;

/** The targets of reliability, with what must hold. */
export const targets = {
  R1: "many reads: 10 000 a second",
  R2: "many commands: 1 000 keys a second to 100 devices, none lost, in order",
  R3: "devices that hang: the others stay as fast",
  R4: "fourteen ways in which a device fails: an error in time, nothing left over",
  R5: "an hour of everything: memory and descriptors stay flat",
  R6: "killed at any system call of a write: nothing unreadable, nothing lost that was acknowledged",
  R7: "the power fails: the old content or the new, and on disk before the answer",
  R8: "the disk reports errors: reported, rolled back, and the next write works",
  R9: "the disk is full: reads and keys go on",
  R10: "the disk is read-only: zapd starts, warns, and controls devices",
  R11: "a damaged registry or cache: the bad file is kept aside, the last good backup loaded, the cache rebuilt; a bad config: no start",
  R12: "a port in use, a socket that was left behind: reported, or cleaned up",
  R13: "the clock jumps: no deadline early or late",
  R14: "the machine sleeps: late commands are reported, never sent",
  R15: "the network goes and comes back, addresses change: followed",
  R16: "a storm of answers to one search: limited, and the real device is found",
  R17: "asked to stop: running work ends, within five seconds",
  R18: "no error is left uncaught",
  R19: "a start with a hundred devices: answers at once",
  R20: "a thousand changes at once: all on disk, in few writes",
} as const satisfies Record<`R${number}`, string>;

/** The files whose tests name each id at the head of a title, from `test/` on. */
export function proofs(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { path, code } of sourcesIn("test").filter((one) => /\.(test|slow|timed|cases)\.ts$/.test(one.path)))
    for (const id of new Set(
      [...code.matchAll(/["`]((?:[TR]\d{1,2} )+)/g)].flatMap(([, ids = ""]) => ids.trim().split(" ")),
    ))
      found.set(id, [...(found.get(id) ?? []), path.replace(/^test\//, "")]);
  return found;
}

/** Every id that must have a test. */
export const promised = [...Object.keys(threats), ...Object.keys(targets)];
