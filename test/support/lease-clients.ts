/**
 * Clients that want devices for themselves, as a program that can be killed: `bun lease-clients.ts URL NAME COUNT ID …`. Each
 * takes a device, says who it is by what it launches there, now and then lets its time run out instead of giving the device
 * back, and begins anew. What it launches is known by the set: `NAME-<client>-<turn>`.
 */
import { createClient } from "../../src/api/client.ts";
import { sleep } from "../../src/system/sleep.ts";

const [url = "", name = "", count = "0", ...ids] = process.argv.slice(2);
const zapd = createClient({ url });

/** Seconds that a lease lasts. */
const ttl_s = 2;
/** Of so many turns one ends by itself, and what comes too late then must not reach the set. */
const everyLate = 5;

async function turn(client: number, at: number): Promise<void> {
  const who = `${name}-${client}-${at}`;
  const id = ids[Math.floor(Math.random() * ids.length)] ?? "";
  const { token } = await zapd.takeLease({ id, body: { owner: who, ttl_s, wait_s: 30 } });
  const launch = () => zapd.launchApp({ id, body: { app: "12", params: { content_id: who } }, lease: token });
  for (let count = 0; count < 3; count++) await launch();
  if (Math.random() > 1 / everyLate) return void (await zapd.freeLease({ id, lease: token }));
  // It has no say in when that is: it goes on until it is told that it has nothing to say any more.
  for (;;) await launch();
}

async function live(client: number): Promise<never> {
  for (let at = 0; ; at++) {
    // The daemon is gone, or the lease is: it begins anew.
    await turn(client, at).catch(() => sleep(20 + Math.random() * 80));
  }
}

await Promise.all(Array.from({ length: Number(count) }, (_, client) => live(client)));
