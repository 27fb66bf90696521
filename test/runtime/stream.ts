/** Serves one stream, silent for long between two words, on a port and on a socket; says the port. Run under each runtime. */
import { currentRuntime, type Handler } from "../../src/runtime/runtime.ts";

const [path = "", silentMs = "0"] = process.argv.slice(2);
let left = 0;

const answer: Handler = (request, call) => {
  if (new URL(request.url).pathname === "/left") return Response.json(left);
  call.withoutIdleLimit("ended");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const body = new ReadableStream<string>({
    start(controller) {
      controller.enqueue("first\n");
      timer = setTimeout(() => {
        controller.enqueue("last\n");
        controller.close();
      }, Number(silentMs));
    },
    cancel() {
      clearTimeout(timer);
      left++;
    },
  }).pipeThrough(new TextEncoderStream());
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
};

const { port } = await currentRuntime().listen({ hostname: "127.0.0.1", port: 0 }, answer);
await currentRuntime().listen({ path }, answer);
process.stdout.write(`${port}\n`);
