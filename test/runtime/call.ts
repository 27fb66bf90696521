/** Calls a control socket many times, two at once, and says how many calls had no answer. Run under each runtime. */
import { currentRuntime } from "../../src/runtime/runtime.ts";

const [path = ""] = process.argv.slice(2);

async function call(): Promise<unknown> {
  const signal = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(10_000)]);
  const response = await currentRuntime().call(path, { method: "GET", path: "/", signal });
  return response.json();
}

let unanswered = 0;
for (let round = 0; round < 150; round++) {
  const settled = await Promise.allSettled([call(), call()]);
  unanswered += settled.filter(({ status }) => status === "rejected").length;
}
process.stdout.write(`${unanswered} of 300 had no answer\n`);
