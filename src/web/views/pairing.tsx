/** The pairing dialog: a prompt at the set, a code that it shows, or its login, with the time left and any failure. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Arguments, Result } from "../../api/client.ts";
import type { PairingReason } from "../../api/errors.ts";
import { addressOf, call, type Failure, failureOf, noAnswer, send } from "../calls.ts";
import { connection, type Entry, events, updateDevice } from "../store.ts";
import { Button } from "../ui/button.tsx";
import { useNow } from "../ui/clock.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { announce } from "../ui/status.tsx";
import { formatDuration } from "../words.ts";

/** The answer of the API: what the device waits for, or without a `step`, that it is paired. */
type Answer = Result<"pairDevice">;

/** What the user can do when pairing ended, shown below the message of the daemon. */
const reasonWords: Readonly<Record<PairingReason, string>> = {
  wrong: "Check it, and try again.",
  late: "The prompt on the TV was not answered in time. Try again when you are in front of it.",
  denied: "The request was denied on the TV. Try again, and allow it there.",
  busy: "Somebody else is pairing it. Wait until they have finished.",
  cancelled: "The pairing was cancelled.",
  closed: "The TV ended the pairing. Try again; some TVs show the prompt only on their home screen.",
  protocol: "zapd did not understand the answer of the TV.",
};

export function Pairing({ entry, close }: { readonly entry: Entry; close(): void }) {
  const waiting = useSignal<Answer | null>(null);
  const failure = useSignal<Failure | null>(null);
  const isBusy = useSignal(false);
  /** Whether a pairing is requested or under way, which closing the dialog must cancel. */
  const isOpen = useRef(false);
  const { id } = entry;
  const { name } = entry.device.value;

  const finished = () => {
    isOpen.current = false;
    entry.refusal.value = null;
    announce(`${name} is paired`);
    close();
  };
  const failed = (why: Failure | null) => {
    failure.value = why;
    // A wrong code can be tried again; any other failure ends the pairing.
    if (why?.reason === "wrong") return;
    isOpen.current = false;
    waiting.value = null;
  };
  const ask = async (body: NonNullable<Arguments<"pairDevice">["body"]>) => {
    isBusy.value = true;
    isOpen.current = true;
    failure.value = null;
    try {
      const answer = await call("pairDevice", { id, body });
      if (answer.step !== undefined) waiting.value = answer;
      else {
        updateDevice(answer.device);
        finished();
      }
    } catch (error) {
      failed(failureOf(error));
    } finally {
      isBusy.value = false;
    }
  };
  /** Cancels a pairing that another client began: a set allows one at a time. */
  const takeOver = async () => {
    isBusy.value = true;
    isOpen.current = true;
    await call("cancelPairing", { id }).catch(() => {});
    // The dialog may have been closed meanwhile.
    if (isOpen.current) await ask({ begin: true });
  };
  useEffect(() => {
    void ask({ begin: true });
    const giveUp = () => {
      if (!isOpen.current) return;
      isOpen.current = false;
      send(addressOf("cancelPairing", { id }), { method: "DELETE", keepalive: true }).catch(() => {});
    };
    addEventListener("pagehide", giveUp);
    return () => {
      removeEventListener("pagehide", giveUp);
      giveUp();
    };
  }, [id]);
  // Pairing events go to every client; only those after the start of this pairing are about it.
  const startedAfter = useRef(events.peek()[0]?.id);
  const news = pairingEventOf(id, startedAfter.current);
  useEffect(() => {
    // While a request of this dialog is under way, its response decides. The one that begins may come after the device accepted.
    if (news?.status === "paired" && !isBusy.value) finished();
  }, [news?.id, isBusy.value]);
  useEffect(() => {
    if (waiting.peek() !== null && !isBusy.peek() && news?.status === "failed" && news.reason !== "wrong") {
      const reason = (news.reason ?? null) as PairingReason | null;
      failed({ code: "pairing_failed", message: `${name} was not paired`, hint: null, reason });
    }
  }, [news?.id]);
  const isLost = connection.value === "lost";
  useEffect(() => {
    // A daemon that stopped has ended the pairing.
    if (isLost && waiting.peek() !== null) failed(noAnswer);
  }, [isLost]);
  const { value: now } = waiting;
  const reason = failure.value?.reason ?? null;
  const words = reason === null ? null : reasonWords[reason];
  return (
    <Dialog title={`Pair ${name}`} onClose={close}>
      {failure.value && (
        <Refusal failure={{ ...failure.value, hint: [words, failure.value.hint].filter(Boolean).join(" ") || null }} />
      )}
      {now === null ? (
        <Begin
          name={name}
          isBusy={isBusy.value}
          failure={failure.value}
          begin={() => void ask({ begin: true })}
          takeOver={() => void takeOver()}
        />
      ) : (
        <>
          <Prompt waiting={now} name={name} isBusy={isBusy.value} enter={ask} />
          <Countdown until={Date.parse(now.expires_at ?? "")} />
        </>
      )}
      <div class="actions">
        <Button label={now === null ? "Close" : "Cancel"} onPress={close} />
      </div>
    </Dialog>
  );
}

/** The newest pairing event of the device since the given event. */
function pairingEventOf(id: string, since: string | undefined) {
  for (const event of events.value) {
    if (event.id === since) return undefined;
    if (event.type === "pairing.changed" && event.device_id === id) return event;
  }
  return undefined;
}

interface BeginProps {
  readonly name: string;
  readonly isBusy: boolean;
  /** Why the last try failed; `null` before the first. */
  readonly failure: Failure | null;
  begin(): void;
  /** Cancels the pairing of another client and begins here. */
  takeOver(): void;
}

function Begin({ name, isBusy, failure, begin, takeOver }: BeginProps) {
  if (isBusy || failure === null) return <p role="status">Contacting {name} …</p>;
  if (failure.code === "device_busy")
    return <Button label="Cancel that pairing and start here" icon="refresh-cw" kind="primary" onPress={takeOver} />;
  return <Button label="Try again" icon="refresh-cw" kind="primary" onPress={begin} />;
}

/** The time left. */
function Countdown({ until }: { readonly until: number }) {
  const now = useNow(500, true);
  const left = Math.max(0, Math.ceil((until - now) / 1_000));
  if (Number.isNaN(left)) return null;
  return (
    <p class="muted pairing-left">
      <Icon name="clock" size={16} />
      {left === 0 ? "The time has run out" : `${formatDuration(left * 1_000)} left`}
    </p>
  );
}

interface PromptProps {
  readonly waiting: Answer;
  readonly name: string;
  readonly isBusy: boolean;
  enter(answer: { readonly pin: string } | { readonly user?: string; readonly password: string }): Promise<void>;
}

/** The current step: an instruction, or a form. */
function Prompt({ waiting, name, isBusy, enter }: PromptProps) {
  if (waiting.step === "confirm") {
    return (
      <div class="pairing-look" role="status">
        <Icon name="tv" size={28} />
        <p>
          Look at the screen of <strong>{name}</strong>: a prompt asks whether zapd may control it. Accept it with the
          TV's own remote. If there is no prompt, turn the TV on and close any app or menu on its screen.
        </p>
      </div>
    );
  }
  if (waiting.step === "code") return <Code waiting={waiting} name={name} isBusy={isBusy} enter={enter} />;
  return <Login name={name} isBusy={isBusy} enter={enter} />;
}

function Code({ waiting: { form, length = null }, name, isBusy, enter }: PromptProps) {
  const code = useSignal("");
  const isWhole = length === null ? code.value !== "" : code.value.length === length;
  const count = length === null ? "" : `${length} `;
  const missing = isWhole ? undefined : "Enter the whole code";
  const send = async () => {
    await enter({ pin: code.value });
    // A wrong code would take the place of the next one.
    code.value = "";
  };
  return (
    <PairForm missing={missing} isBusy={isBusy} enter={send}>
      <Field
        label={`The code that ${name} shows`}
        note={`${count}${form === "hex" ? "letters A to F and digits" : "digits"}, now on its screen`}
        text={code}
        // Not `maxLength`, which would count the spaces of a pasted code.
        clean={(typed) =>
          typed
            .replaceAll(/\s/g, "")
            .toUpperCase()
            .slice(0, length ?? undefined)
        }
        inputMode={form === "digits" ? "numeric" : "text"}
        autocomplete="one-time-code"
        focused
      />
    </PairForm>
  );
}

function Login({ name, isBusy, enter }: Omit<PromptProps, "waiting">) {
  const user = useSignal("");
  const password = useSignal("");
  const login = () => ({ password: password.value, ...(user.value !== "" && { user: user.value }) });
  const missing = password.value === "" ? "Enter the password" : undefined;
  return (
    <PairForm missing={missing} isBusy={isBusy} enter={() => enter(login())}>
      <p>Enter the login from the remote control settings of {name}. zapd saves it, and sends it to no other device.</p>
      <Field label="User name" text={user} autocomplete="username" focused />
      <Field label="Password" type="password" text={password} autocomplete="current-password" />
    </PairForm>
  );
}

interface PairFormProps {
  /** Why the form cannot be sent yet. */
  readonly missing: string | undefined;
  readonly isBusy: boolean;
  enter(): Promise<void>;
  readonly children: ComponentChildren;
}

function PairForm({ missing, isBusy, enter, children }: PairFormProps) {
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (missing === undefined && !isBusy) void enter();
      }}
    >
      {children}
      <Button label="Pair" icon="link" kind="primary" submits busy={isBusy} withheld={missing} />
    </form>
  );
}
