/** The topics of a site, and what may stand in them. Pure. */

/** The version of the layout, so that there can be another beside it. */
const layout = 1;

/** The fields of a device that take a plain value, for scripts, dashboards and people. */
export const settable = ["power", "volume", "mute", "app", "input", "key", "text", "notify"] as const;
export type Settable = (typeof settable)[number];

/** The topics of one site. */
export interface SiteTopics {
  /** The site, as it stands in them. */
  readonly site: string;
  readonly prefix: string;
  /** `zapd/1/{site}`: everything of it is below. */
  readonly base: string;
  readonly status: string;
  readonly rpc: string;
  readonly events: string;
  device(id: string): string;
  state(id: string): string;
  log(id: string): string;
  set(id: string, what: Settable): string;
  /** Where answers come to one client of this site. */
  reply(client: string): string;
}

export function topicsOf(prefix: string, site: string): SiteTopics {
  const base = `${prefix}/${layout}/${site}`;
  const device = (id: string) => `${base}/devices/${id}`;
  return {
    site,
    prefix,
    base,
    status: `${base}/status`,
    rpc: `${base}/rpc`,
    events: `${base}/events`,
    device,
    state: (id) => `${device(id)}/state`,
    log: (id) => `${device(id)}/log`,
    set: (id, what) => `${device(id)}/set/${what}`,
    reply: (client) => `${base}/reply/${client}`,
  };
}

/** The device and the field of a topic below `devices`: `["9f…", "set", "power"]`; `null` for any other. */
export function partsOf({ base }: SiteTopics, topic: string): readonly string[] | null {
  const above = `${base}/devices/`;
  return topic.startsWith(above) ? topic.slice(above.length).split("/") : null;
}

/** Whether a topic is one of those that a filter, with `+` and `#`, means. */
export function matches(filter: string, topic: string): boolean {
  const wanted = filter.split("/");
  const parts = topic.split("/");
  for (const [at, one] of wanted.entries()) {
    if (one === "#") return true;
    if (at >= parts.length || (one !== "+" && one !== parts[at])) return false;
  }
  return wanted.length === parts.length;
}

/** The longest topic that an answer is sent to. */
const longestReply = 512;

/**
 * Whether an answer may go to a topic that a caller names: none with wildcards, none of the broker's own, and none that is read
 * as a command or kept for others. Below the prefix only this site's `reply` is left.
 */
export function mayAnswerAt({ prefix, base }: SiteTopics, topic: string): boolean {
  if (topic === "" || topic.length > longestReply || /[+#\p{Cc}\p{Cs}]/u.test(topic) || topic.startsWith("$"))
    return false;
  return !topic.startsWith(`${prefix}/`) || topic.startsWith(`${base}/reply/`);
}
