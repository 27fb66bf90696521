/**
 * Clients that lease devices, as a program that can be killed: `bun lease-clients.ts URL NAME COUNT ID …`. Each leases a
 * device, launches an app with its name (`NAME-<client>-<turn>`), by which the set knows it, and begins again. Now and then
 * it lets its lease expire in place of freeing it.
 */
import { createClient } from "../../src/api/client.ts";
import { sleep } from "../../src/system/sleep.ts";

const [url = "", name = "", count = "0", ...ids] = process.argv.slice(2);
const zapd = createClient({ url });

const ttl_s = 2;
/** One of so many leases expires; launches after that must not reach the set. */
const everyLate = 5;

async function turn(client: number, at: number): Promise<void> {
  const who = `${name}-${client}-${at}`;
  const id = ids[Math.floor(Math.random() * ids.length)] ?? "";
  const { token } = await zapd.takeLease({ id, body: { owner: who, ttl_s, wait_s: 30 } });
  const launch = () => zapd.launchApp({ id, body: { app: "12", params: { content_id: who } }, lease: token });
  for (let count = 0; count < 3; count++) await launch();
  if (Math.random() > 1 / everyLate) return void (await zapd.freeLease({ id, lease: token }));
  // It goes on until it is refused.
  for (;;) await launch();
}

async function live(client: number): Promise<never> {
  for (let at = 0; ; at++) {
    // The daemon or the lease has ended: it begins again.
    await turn(client, at).catch(() => sleep(20 + Math.random() * 80));
  }
}

await Promise.all(Array.from({ length: Number(count) }, (_, client) => live(client)));
