import { describe, expect, test } from "bun:test";
import { answer, type Heard, type Saying, until } from "../support/http-device.ts";
import { client, device, failure, me, never, said } from "./http-harness.ts";

describe.concurrent("proof of who is there", () => {
  const sure = (heard: Heard) => (heard.target === "/who" ? answer(200, "me") : answer(200));

  test("comes before a command on a new connection, and holds on that connection", async () => {
    const tv = await device(sure);
    const http = client(tv, me);
    await http.command("/1", never);
    await http.command("/2", never);
    expect(said(tv.heard)).toEqual(["1 GET /who", "1 POST /1", "1 POST /2"]);
    tv.hangUp();
    await until("the hang-up has arrived", () => tv.open === 0);
    await Bun.sleep(20);
    await http.command("/3", never);
    expect(said(tv.heard).slice(3)).toEqual(["2 GET /who", "2 POST /3"]);
  });

  test("comes again once the connection has rested", async () => {
    const tv = await device(sure);
    const http = client(tv, me);
    await http.command("/1", never);
    await Bun.sleep(2_100);
    await http.command("/2", never);
    expect(said(tv.heard)).toEqual(["1 GET /who", "1 POST /1", "1 GET /who", "1 POST /2"]);
  });

  test("is not taken from a read", async () => {
    const tv = await device(sure);
    const http = client(tv, me);
    await http.read("/state", never);
    await http.command("/1", never);
    expect(said(tv.heard)).toEqual(["1 GET /state", "1 GET /who", "1 POST /1"]);
  });

  test("is asked of a device that closes after each answer before each command, which follows it at once", async () => {
    const close = (heard: Heard): Saying => ({
      thenClose: sure(heard).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    });
    const tv = await device(close);
    const http = client(tv, me);
    await http.command("/1", never);
    await http.command("/2", never);
    expect(said(tv.heard)).toEqual(["1 GET /who", "2 POST /1", "3 GET /who", "4 POST /2"]);
  });

  test("over a kept connection that is dead is asked for again on a new one", async () => {
    let whos = 0;
    const tv = await device((heard) => (heard.target === "/who" && ++whos === 1 ? "close" : sure(heard)));
    const http = client(tv, me);
    await http.read("/state", never);
    await http.command("/1", never);
    expect(said(tv.heard)).toEqual(["1 GET /state", "1 GET /who", "2 GET /who", "2 POST /1"]);
  });

  test("that fails lets nothing be sent, and closes its connection", async () => {
    for (const who of [answer(200, "another"), answer(500), "close", "hang", "SSH\r\n"] as const) {
      const tv = await device((heard) => (heard.target === "/who" ? who : answer(200)));
      const http = client(tv, me, 300);
      expect(await failure(http.command("/press", never))).not.toBe("none");
      expect(tv.heard.filter((one) => one.method === "POST")).toEqual([]);
      http.close();
      await until(`nothing is left open after ${JSON.stringify(who)}`, () => tv.open === 0);
    }
  });
});
