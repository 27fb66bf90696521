import { describe, expect, test } from "bun:test";
import { developerSet, install } from "./roku-developer-harness.ts";
import { listen, packageOf, post, until } from "./roku-harness.ts";

describe("the console", () => {
  test("is for one: the second is told so and closed, and may come when the first has gone", async () => {
    const simulator = await developerSet();
    simulator.log("before");
    const first = listen(simulator.host, simulator.ports.console ?? 0);
    await until("the buffer is replayed", () => first.text() === "before\r\n");
    const second = listen(simulator.host, simulator.ports.console ?? 0);
    await until("the second is sent away", () => second.closed());
    expect(second.text()).toBe("Console connection is already in use.\r\n");
    simulator.log("héllo");
    await until("the line arrives", () => first.text() === "before\r\nhéllo\r\n");
    first.socket.destroy();
    await until("the console is free", async () => {
      const next = listen(simulator.host, simulator.ports.console ?? 0);
      await until("it is answered", () => next.text() !== "");
      next.socket.destroy();
      return next.text() === "before\r\nhéllo\r\n";
    });
  });

  test("Ctrl-C breaks into the debugger, which is why a reader never sends it", async () => {
    const simulator = await developerSet();
    const reader = listen(simulator.host, simulator.ports.console ?? 0);
    reader.socket.write("help\r\n");
    reader.socket.write(new Uint8Array([3]));
    await until("the prompt is there", () => reader.text() === "\r\nBrightScript Debugger> ");
    reader.socket.destroy();
  });

  test("leaving the app is told of: suspended when it may stay, exited when not", async () => {
    const simulator = await developerSet();
    await install(simulator, packageOf());
    const lines = listen(simulator.host, simulator.ports.console ?? 0);
    await post(simulator, "/keypress/Home");
    await until("it exits", () => lines.text().includes("[beacon.report] |AppExitComplete"));
    await install(simulator, packageOf({ manifest: "title=Stays\nsdk_instant_resume=1" }));
    await post(simulator, "/keypress/Home");
    await until("it is suspended", () => lines.text().includes("|AppSuspendComplete"));
    await post(simulator, "/launch/dev");
    await until("it resumes", () => lines.text().includes("|AppResumeComplete"));
    lines.socket.destroy();
  });
});
