/** The findings of `zapd doctor`, requested by a button because the check takes seconds and asks the devices. */
import { useSignal } from "@preact/signals";
import type { Result } from "../../api/client.ts";
import { call } from "../calls.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Refusal } from "../ui/refusal.tsx";
import { useTask } from "../ui/task.ts";
import { countOf } from "../words.ts";

type Report = Result<"examine">;

/** The worst first. */
const marks = [
  { status: "fail", icon: "circle-alert", word: "Problem" },
  { status: "warn", icon: "triangle-alert", word: "Remark" },
  { status: "ok", icon: "check", word: "OK" },
] as const satisfies readonly { status: Report["checks"][number]["status"]; icon: IconName; word: string }[];

export function Doctor() {
  const report = useSignal<Report | null>(null);
  const { isBusy, failure, run } = useTask(async () => {
    report.value = await call("examine");
  });
  const { value: found } = report;
  return (
    <section aria-labelledby="doctor">
      <div class="doctor-head">
        <h2 id="doctor">Diagnosis</h2>
        <Button
          label={isBusy.value ? "Checking …" : found === null ? "Check" : "Check again"}
          icon="stethoscope"
          busy={isBusy.value}
          onPress={run}
        />
      </div>
      <p class="muted" role="status">
        {found === null
          ? "Checks the daemon, the network and every device without changing anything. It takes some seconds."
          : summaryOf(found)}
      </p>
      {failure.value && <Refusal failure={failure.value} />}
      {found !== null && (
        <ul class="doctor card">
          {marks.flatMap(({ status, icon, word }) =>
            found.checks
              .filter((one) => one.status === status)
              .map((one) => (
                <li key={one.id} class={`is-${status}`}>
                  <Icon name={icon} size={18} />
                  <p>
                    <span class="hidden">{word}: </span>
                    {one.text}
                    {one.hint !== null && <span class="muted">. {one.hint}</span>}
                  </p>
                </li>
              )),
          )}
        </ul>
      )}
    </section>
  );
}

function summaryOf({ problems, remarks }: Report): string {
  if (problems + remarks === 0) return "No problems found.";
  return `${countOf(problems, "problem")}, ${countOf(remarks, "remark")}.`;
}
