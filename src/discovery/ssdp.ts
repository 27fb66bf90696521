/** Searching over SSDP: one socket per interface, with repeated searches. Knows no platform, and does not interpret answers. */
import { createSocket, type Socket } from "node:dgram";
import { textOf } from "../api/errors.ts";
import type { SsdpAnswer } from "../platforms/platform.ts";
import { currentRuntime } from "../runtime/runtime.ts";
import { tryOr } from "../system/try-or.ts";
import type { Interface } from "./interfaces.ts";
import type { ScanWindow } from "./window.ts";

const group = "239.255.255.250";
const port = 1900;
const maxDatagram = 4 * 1024;
/** Datagrams get lost, so each search is sent three times, and once more at half the time. */
const sendAtMs = [0, 200, 400] as const;
/** Enough to cross a router or two, but not to leave the home network. */
const hops = 2;

export interface SsdpSearch {
  readonly targets: readonly string[];
  readonly interfaces: readonly Interface[];
  readonly window: ScanWindow;
  onAnswer(answer: SsdpAnswer): void;
  /** Called with a message about an interface that could not be asked. */
  onTrouble(problem: string): void;
}

/** Searches until the window is over. */
export async function searchSsdp(search: SsdpSearch): Promise<void> {
  if (search.targets.length === 0) return;
  await Promise.all(search.interfaces.map((one) => searchOn(one, search, createSocket("udp4"))));
}

function searchOn(one: Interface, search: SsdpSearch, socket: Socket): Promise<void> {
  const { window, targets } = search;
  return new Promise((resolve) => {
    const timers: ReturnType<typeof setTimeout>[] = [];
    let open = true;
    const end = (trouble?: unknown) => {
      if (!open) return;
      open = false;
      for (const timer of timers) clearTimeout(timer);
      socket.close();
      const where = `The SSDP search on ${one.name} (${one.address})`;
      if (trouble) search.onTrouble(`${where} failed: ${textOf(trouble)}. zapd doctor says what may block it`);
      resolve();
    };
    const send = () => {
      for (const target of open ? targets : []) {
        socket.send(question(target, window.timeoutMs), port, group, (error) => error && end(error));
      }
    };
    const ask = () => {
      for (const at of sendAtMs) timers.push(setTimeout(send, at));
    };
    socket.on("error", end);
    socket.on("message", (bytes, from) => {
      const answer = readAnswer(bytes, from.address);
      if (answer) search.onAnswer(answer);
    });
    socket.bind(0, one.address, () => {
      try {
        socket.setMulticastInterface(one.address);
        socket.setMulticastTTL(hops);
      } catch (error) {
        return end(error);
      }
      // So that a burst of answers does not displace others. Not every runtime supports this; the search is repeated anyway.
      tryOr(() => socket.setRecvBufferSize(currentRuntime().burstBufferBytes), undefined);
      ask();
      timers.push(setTimeout(send, window.timeoutMs / 2));
      window.onExtend(ask);
    });
    void window.over.then(() => end());
  });
}

function question(target: string, timeoutMs: number): string {
  const seconds = Math.min(3, Math.max(1, Math.floor(timeoutMs / 1_000)));
  return [
    "M-SEARCH * HTTP/1.1",
    `HOST: ${group}:${port}`,
    'MAN: "ssdp:discover"',
    `MX: ${seconds}`,
    `ST: ${target}`,
    "",
    "",
  ].join("\r\n");
}

/** Reads an answer to a search; `null` for other datagrams. Header names are in lower case. */
export function readAnswer(bytes: Uint8Array, source: string): SsdpAnswer | null {
  if (bytes.length > maxDatagram) return null;
  const [first = "", ...lines] = decoder.decode(bytes).split(/\r?\n/);
  if (!/^HTTP\/1\.[01] 200\b/.test(first)) return null;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { headers, source };
}

const decoder = new TextDecoder("latin1");
