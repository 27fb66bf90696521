/** A screenshot of the set, taken on request and after each command. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { addressOf, type Failure, failureOf, readAnswer, send } from "../calls.ts";
import { connection, type Entry, events } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { LastRefusal } from "../ui/refusal.tsx";
import { useVisible } from "../ui/visible.ts";
import { formatTime, withheldHint } from "../words.ts";

/** A set draws a moment after it accepts a command. */
const drawDelayMs = 700;

interface Shot {
  /** An object URL, to be revoked. */
  readonly url: string;
  readonly at: Date;
}

interface ScreenProps {
  readonly entry: Entry;
  readonly isOn: boolean;
  /** The buttons below the picture. */
  readonly children: ComponentChildren;
}

export function Screen({ entry, isOn, children }: ScreenProps) {
  const shot = useSignal<Shot | null>(null);
  const failure = useSignal<Failure | null>(null);
  const isTaking = useSignal(false);
  const isGone = useRef(false);
  /** Whether there was a command since the picture that is under way was asked for. */
  const isOld = useRef(false);
  const device = entry.device.value;
  const can = device.capabilities.includes("screenshot");
  const put = (next: Shot | null) => {
    if (shot.peek()) URL.revokeObjectURL(shot.peek()?.url ?? "");
    shot.value = next;
  };
  /** Without `isRequested`, a missing picture is no failure, and no 404 appears in the browser's console. */
  const take = async (isRequested: boolean) => {
    if (isTaking.peek()) {
      isOld.current = true;
      return;
    }
    isOld.current = false;
    isTaking.value = true;
    try {
      const query = isRequested ? {} : { missing: "empty" };
      const response = await send(addressOf("getScreenshot", { id: entry.id, query }));
      failure.value = null;
      if (response.status === 204) return put(null);
      if (!response.headers.get("content-type")?.startsWith("image/")) await readAnswer(response);
      const picture = await response.blob();
      // Nothing would revoke the URL of a picture that comes after the view was left.
      if (!isGone.current) put({ url: URL.createObjectURL(picture), at: new Date() });
    } catch (error) {
      put(null);
      if (isRequested) failure.value = failureOf(error);
    } finally {
      isTaking.value = false;
      if (isOld.current && !isGone.current) void take(false);
    }
  };
  const newest = events.value.find(
    (event) => event.type === "action.finished" && event.device_id === entry.id && event.ok,
  )?.id;
  const isLive = connection.value === "live";
  // What was commanded while another tab was shown is seen once this one is.
  const isVisible = useVisible();
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isLive || !isOn || !can || !isVisible) return;
    const timer = setTimeout(() => void take(false), isFirst.current ? 0 : drawDelayMs);
    isFirst.current = false;
    return () => clearTimeout(timer);
  }, [isLive, isOn, can, isVisible, newest]);
  useEffect(
    () => () => {
      isGone.current = true;
      put(null);
    },
    [],
  );
  return (
    <section class="dev-card card" aria-labelledby="dev-screen">
      <header>
        <h2 id="dev-screen">Screen</h2>
        <p class="muted">{shot.value && formatTime(shot.value.at)}</p>
        <Button
          label={shot.value ? "Take another picture" : "Take a picture"}
          icon="camera"
          iconOnly
          kind="quiet"
          busy={isTaking.value}
          withheld={can ? undefined : (withheldHint(device, "screenshot") ?? noPictures)}
          onPress={() => void take(true)}
        />
      </header>
      <div class="dev-picture">
        {shot.value ? (
          <img src={shot.value.url} alt={`What ${device.name} shows`} />
        ) : (
          <p class="muted">
            <Icon name="monitor" size={28} />
            {noPicture(can, isOn)}
          </p>
        )}
      </div>
      <LastRefusal failure={failure} />
      <div class="dev-actions">{children}</div>
    </section>
  );
}

const noPictures = "The device provides no screenshots";

function noPicture(can: boolean, isOn: boolean): string {
  if (!can) return noPictures;
  return isOn ? "No picture is available now" : "A picture is taken once the device is on";
}
