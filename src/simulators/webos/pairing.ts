import { randomBytes } from "node:crypto";
import type { Model, OpenPrompt } from "./model.ts";
import { keep, type ShownPrompt } from "./received.ts";
import { isPayload, type Payload, Refusal, textsIn } from "./wire.ts";

/** The connection that wants to register. */
export interface Applicant {
  /** A message under the id of its `register`. */
  reply(message: Payload): void;
  refuse(refusal: Refusal): void;
  admit(granted: ReadonlySet<string>): void;
  /** Called with what to do if it leaves before the prompt is answered. */
  onLeave(leave: () => void): void;
}

/** Never granted for the asking in the outer list (smart-tvs.md 2.3: unsigned loses READ_UPDATE_INFO and settings writes). */
const SIGNED_ONLY = new Set(["READ_UPDATE_INFO", "UPDATE_FROM_REMOTE_APP", "WRITE_SETTINGS", "TEST_SECURE"]);

/** smart-tvs.md 2.3, from step 3 on. */
export function register(model: Model, payload: Payload, applicant: Applicant): void {
  const manifest = isPayload(payload["manifest"]) ? payload["manifest"] : {};
  // `signatures` alone pass: lgtv2 2.0.2 pairs in the field with the signed part dropped and them still sent.
  if (model.firmware.signed === "refused" && manifest["signed"] !== undefined)
    return applicant.refuse(new Refusal("403 Pairing rejected: blacklisted certificate detected"));
  const key = payload["client-key"];
  const known = typeof key === "string" ? model.clientKeys.get(key) : undefined;
  if (typeof key === "string" && known !== undefined) return admit(model, applicant, key, known);
  const granted = grantedBy(model, manifest);
  if (model.behaviour.prompting === "none") return admitNew(model, applicant, granted);
  // The words are those a client of others waits for; that they come to a second connection too is in no source.
  if (model.prompt !== null) return applicant.refuse(new Refusal("409 register already in progress"));
  applicant.reply({ type: "response", payload: { pairingType: "PROMPT", returnValue: true } });
  showPrompt(model, textsIn(manifest["permissions"]), applicant, granted);
}

/** A flat list, outside of `manifest`, grants nothing: it registers and gets 401 on all (smart-tvs.md 2.3). */
function grantedBy({ firmware }: Model, manifest: Payload): Set<string> {
  const granted = new Set(textsIn(manifest["permissions"]).filter((one) => !SIGNED_ONLY.has(one)));
  const signed = manifest["signed"];
  if (firmware.signed !== "honoured" || !isPayload(signed)) return granted;
  return new Set([...granted, ...textsIn(signed["permissions"])]);
}

function showPrompt(model: Model, permissions: readonly string[], applicant: Applicant, granted: Set<string>): void {
  const { prompting, promptMs, denial } = model.behaviour;
  const shown: ShownPrompt = keep(model.received.prompts, { permissions, answer: "open" });
  const decide = () => prompt.end(prompting === "deny" ? "denied" : "accepted");
  const timer = prompting === "wait" ? null : setTimeout(decide, promptMs);
  const prompt: OpenPrompt = {
    shown,
    end(answer) {
      if (model.prompt !== prompt) return;
      model.prompt = null;
      if (timer !== null) clearTimeout(timer);
      shown.answer = answer;
      model.emit({ type: "prompt-end", answer, text: `pairing prompt ${answer}` });
      if (answer === "accepted") admitNew(model, applicant, granted);
      else if (answer === "denied") applicant.refuse(new Refusal(denial));
    },
  };
  model.prompt = prompt;
  // Whether a real prompt outlives its connection is in no source.
  applicant.onLeave(() => prompt.end("gone"));
  model.emit({ type: "prompt", permissions, text: "pairing prompt shown" });
}

function admitNew(model: Model, applicant: Applicant, granted: ReadonlySet<string>): void {
  const key = randomBytes(16).toString("hex");
  model.clientKeys.set(key, granted);
  admit(model, applicant, key, granted);
}

function admit(model: Model, applicant: Applicant, key: string, granted: ReadonlySet<string>): void {
  applicant.admit(granted);
  applicant.reply({ type: "registered", payload: { "client-key": key } });
  model.emit({ type: "registered", key, text: "a client registered" });
}
