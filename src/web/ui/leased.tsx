import type { Device } from "../../api/client-types.ts";
import { timeOf } from "../words.ts";
import { Icon } from "./icon.tsx";

/** Who has a device to themselves, and until when: what is asked of it here is refused meanwhile. */
export function Leased({ device: { lease } }: { readonly device: Device }) {
  if (lease === null) return null;
  const until = timeOf(new Date(lease.until), false);
  return (
    <p class="leased muted">
      <Icon name="lock" size={16} />
      {`${lease.owner} has it until ${until}${lease.note === null ? "" : `: ${lease.note}`}`}
    </p>
  );
}
