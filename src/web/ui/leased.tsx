import type { Device } from "../../api/client-types.ts";
import { Icon } from "./icon.tsx";

/** Who has a device to themselves, and until when: what is asked of it here is refused meanwhile. */
export function Leased({ device: { lease } }: { readonly device: Device }) {
  if (lease === null) return null;
  const until = new Date(lease.until).toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  return (
    <p class="leased muted">
      <Icon name="lock" size={16} />
      {`${lease.owner} has it until ${until}${lease.note === null ? "" : `: ${lease.note}`}`}
    </p>
  );
}
