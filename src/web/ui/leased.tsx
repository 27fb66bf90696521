import type { Device } from "../../api/client-types.ts";
import { formatTime } from "../words.ts";
import { Icon } from "./icon.tsx";

/** Who holds the lease of a device, and until when; requests from the page are refused meanwhile. */
export function LeaseNote({ device: { lease } }: { readonly device: Device }) {
  if (lease === null) return null;
  const until = formatTime(new Date(lease.until), false);
  return (
    <p class="leased muted">
      <Icon name="lock" size={16} />
      {`Leased by ${lease.owner} until ${until}${lease.note === null ? "" : `: ${lease.note}`}`}
    </p>
  );
}
