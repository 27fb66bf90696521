/** The table of the orders that are tried, as test/security/README.md shows it. */
import { acceptedReasons, orders, playedOn } from "./orders.ts";
import { platforms } from "./sets.ts";
import { manners } from "./strangers.ts";

/** One row for each order, and how often it is played. */
export function tableOfOrders(): string {
  const head = ["Order of events", "The stranger comes", "Seen by", "Where", "Secrets", "Played", "Stays possible"];
  const rows = orders.map((order) => {
    const possible = platforms.map((platform) =>
      playedOn(platform).flatMap((one) =>
        one.order === order ? [order.accepted?.(platform, one.manner)?.reason ?? 0] : [],
      ),
    );
    return [
      order.title,
      order.stranger === "none" ? "–" : order.stranger,
      order.seenBy,
      order.where === "none" ? "–" : order.where,
      order.secrets ? "yes" : "no",
      possible.map(({ length }) => length).join(" + "),
      [...new Set(possible.flat())].filter(Boolean).sort().join(", ") || "–",
    ];
  });
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** The manners of strangers, by platform. */
export function listOfManners(): string {
  return platforms
    .flatMap((platform) =>
      Object.entries(manners[platform]).map(([manner, what]) => `- ${platform}, \`${manner}\`: ${what}.`),
    )
    .join("\n");
}

/** What stays possible, numbered. */
export function listOfAccepted(): string {
  return Object.entries(acceptedReasons)
    .map(([number, what]) => `${number}. ${what}`)
    .join("\n");
}
