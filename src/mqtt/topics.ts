/** The topics of a site. Pure. */

/** The version of the topic layout. */
const layout = 1;

/** The fields of a device that accept a plain value. */
export const settable = ["power", "volume", "mute", "app", "input", "key", "text", "notify"] as const;
export type Settable = (typeof settable)[number];

export type SiteTopics = Readonly<ReturnType<typeof topicsOf>>;

/** The topics of one site. */
export function topicsOf(prefix: string, site: string) {
  /** The beginning of all of them. */
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
    state: (id: string) => `${device(id)}/state`,
    log: (id: string) => `${device(id)}/log`,
    set: (id: string, what: Settable) => `${device(id)}/set/${what}`,
    /** The topic for answers to one client of this site. */
    reply: (client: string) => `${base}/reply/${client}`,
  };
}

/** The parts of a topic below `devices`: `["9f…", "set", "power"]`; `null` for any other topic. */
export function partsOf({ base }: SiteTopics, topic: string): readonly string[] | null {
  const above = `${base}/devices/`;
  return topic.startsWith(above) ? topic.slice(above.length).split("/") : null;
}

/** Whether a topic matches a filter with `+` and `#`. */
export function matches(filter: string, topic: string): boolean {
  const wanted = filter.split("/");
  const parts = topic.split("/");
  for (const [at, one] of wanted.entries()) {
    if (one === "#") return true;
    if (at >= parts.length || (one !== "+" && one !== parts[at])) return false;
  }
  return wanted.length === parts.length;
}

/** The longest reply topic. */
const maxReplyLength = 512;

/**
 * Whether an answer may be sent to a topic: none with wildcards, none of the broker's own, and none of zapd's commands or
 * documents. Below the prefix only the `reply` topics of this site are allowed.
 */
export function isReplyTopic({ prefix, base }: SiteTopics, topic: string): boolean {
  if (topic === "" || topic.length > maxReplyLength || /[+#\p{Cc}\p{Cs}]/u.test(topic) || topic.startsWith("$"))
    return false;
  return !topic.startsWith(`${prefix}/`) || topic.startsWith(`${base}/reply/`);
}
