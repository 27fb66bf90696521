/** The threats and the targets, by the ids that begin the titles of their tests; README.md shows them with these tests. */

import { sourcesIn } from "../support/sources.ts";

/** The threats, with what must hold. */
export const threats = {
  T1: "a web page presses keys by requests that browsers send unasked: refused, nothing carried out",
  T2: "a web page gets at the loopback by a name of its own (DNS rebinding): refused, reads too",
  T3: "a web origin that is nearly one of those listed: exact matches only, no wildcard, no `null`",
  T4: "a web page learns something without reading the answer: headers forbid it, questions at once cost the set one call",
  T5: "a set answers with a redirect, or has zapd call itself: never followed, and known as zapd's own call",
  T6: "an answer to a search names another address: only its sender is ever asked",
  T7: "a caller gives an address that no set can have: refused, and no raw bytes of what answers are shown",
  T8: "XML that grows when it is read: no entities, bounded in bytes, depth and elements",
  T9: "a set that answers too much, too slowly, or garbage: an error within the deadline",
  T10: "a WebSocket that floods: bounded messages and fragments, no compression",
  T11: "line breaks and slashes in names, ids and texts: one request reaches the set, as it was meant",
  T12: "names that write into logs and terminals: JSON lines, and no control characters",
  T13: "secrets in answers, logs, errors, command lines: nowhere but in their file",
  T14: "links and foreign files in the place of zapd's own: not followed, modes 0600 and 0700",
  T15: "another user at the control socket: refused by its mode",
  T16: "two daemons, or a socket that was left behind: one lives, and takes the place of what is dead only",
  T17: "somebody else has the port: told plainly, and sent no secret",
  T18: "requests that two programs read in two ways: refused, or read in one way",
  T19: "callers that are silent or drip: ended, under Deno only in a body, and zapd goes on",
  T20: "bodies that are too large, too deep, or never end: 413 or 400, bounded in memory",
  T21: "packages that lead out of their folder, or grow: refused, never unpacked, gone from the disk afterwards",
  T22: "broken forms: one file, few parts, read as a stream",
  T23: "config patches that reach for more: known keys only, all or nothing, the file stays readable",
  T24: "sets that fill or poison what is remembered: bounded and typed; an address changes only with its identity",
  T25: "packages that zapd is made from: few, pinned, without scripts; two builds are the same",
  T26: "a runtime that changes a default: pinned, and the same probes run on each",
  T27: "a stranger at a known address: no key, no password, no digest and no typed text for it",
  T28: "another user re-points a known set: adding by address never moves it",
  T29: "a stranger answers for a set that is silent: on probation, nothing secret, until somebody says so",
  T30: "the network fills the registry: few from each host, and a user's own always has a seat",
  T31: "guesses at what is kept: answers and times tell a foreign page nothing",
  T32: "a stranger takes the default device's name: the default is kept by its id",
  T33: "foreign pages at the streams and at `/mcp`: none is opened and no place is held, at most 64 over TCP; `/mcp` wants its token from everybody; pictures from sets are told by their bytes",
  T34: "small things in great number: counted before they are parsed, kept in bounded bytes",
  T35: "the user's own files in the place of zapd's: neither followed nor removed",
  T36: "somebody else calls the listener that a device was asked to call: bound to the address that faces the device, its calls alone, on a path that nobody can guess, under a subscription of ours; what it says is not read",
} as const satisfies Record<`T${number}`, string>;

/** The targets of reliability, with what must hold. */
export const targets = {
  R1: "many reads: 10 000 a second",
  R2: "many commands: 1 000 keys a second to 100 sets, none lost, in order",
  R3: "sets that hang: the others stay as fast",
  R4: "fourteen ways in which a set fails: an error in time, nothing left over",
  R5: "an hour of everything: memory and descriptors stay flat",
  R6: "killed at any system call of a write: nothing unreadable, nothing lost that was acknowledged",
  R7: "the power fails: old or new, and on disk before the answer",
  R8: "the disk reports errors: told, rolled back, and the next write works",
  R9: "the disk is full: reads and keys go on",
  R10: "the disk takes no writing: it starts, warns, and drives sets",
  R11: "damaged files: the last good ones, the damaged kept aside; a broken config refuses the start",
  R12: "a port that is taken, a socket that was left: told, or cleared away",
  R13: "the clock jumps: no deadline early or late",
  R14: "the machine sleeps: what is late is told, never sent",
  R15: "the network goes and comes back, addresses change: followed",
  R16: "a storm of answers to one search: bounded, and the real set is found",
  R17: "told to stop: what is under way ends, within five seconds",
  R18: "no error goes uncaught",
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
