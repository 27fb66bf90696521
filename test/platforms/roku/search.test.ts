import { describe, expect, test } from "bun:test";
import { readAnswer } from "../../../src/discovery/ssdp.ts";
import type { Address } from "../../../src/platforms/platform.ts";
import { readSearchAnswer } from "../../../src/platforms/roku/identity.ts";

const source = "192.168.1.40";

/** What is made of a datagram: read as discovery does, then judged by the platform. */
function judge(lines: readonly string[], from = source): Address | null {
  const answer = readAnswer(Buffer.from(["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n")), from);
  return answer && readSearchAnswer(answer);
}

const at = (location: string, from = source) =>
  judge(["ST: roku:ecp", "USN: uuid:roku:ecp:X1", `LOCATION: ${location}`], from);

describe("an answer to the search", () => {
  test("as captured from OS 15.3.4, in its order and case", () => {
    const captured = [
      "Cache-Control: max-age=3600",
      "ST: roku:ecp",
      "USN: uuid:roku:ecp:X02000EM0025",
      "BOOTID.UPNP.ORG: 160",
      "Ext: ",
      "Server: Roku/15.3.4 UPnP/1.0 Roku/15.3.4",
      `LOCATION: http://${source}:8060/`,
      "device-group.roku.com: 0123456789ABCDEF0123",
      "WAKEUP: MAC=02:00:00:00:00:25;Timeout=10",
    ];
    expect(judge(captured)).toEqual({ host: source, port: 8060 });
  });

  test("of older firmware, and with header names in any case", () => {
    const old = [
      "cache-control: max-age=300",
      "st: ROKU:ECP",
      "usn: uuid:roku:ecp:P0A0",
      "Server: Roku UPnP/1.0 MiniUPnPd/1.4",
    ];
    expect(judge([...old, `location: http://${source}:8060/`])).toEqual({ host: source, port: 8060 });
  });

  test("is known by its ST or its USN, and by nothing else", () => {
    const location = `LOCATION: http://${source}:8060/`;
    expect(judge(["ST: upnp:rootdevice", "USN: uuid:roku:ecp:X1", location])).not.toBeNull();
    expect(judge(["ST: roku:ecp", location])).not.toBeNull();
    const hue = [
      "ST: upnp:rootdevice",
      "USN: uuid:2f402f80-da50::upnp:rootdevice",
      "Server: Linux UPnP/1.0 IpBridge/1.26",
    ];
    expect(judge([...hue, location])).toBeNull();
    expect(judge(["Server: Roku/15.3.4 UPnP/1.0 Roku/15.3.4", location])).toBeNull();
    expect(judge(["ST: roku:ecp:2", location])).toBeNull();
  });

  test("may name another port, or leave the one of HTTP unsaid", () => {
    expect(at(`http://${source}:18060/`)).toEqual({ host: source, port: 18_060 });
    expect(at(`http://${source}:8060`)).toEqual({ host: source, port: 8_060 });
    expect(at(`http://${source}/dial`)).toEqual({ host: source, port: 80 });
    expect(at(`HTTP://${source}:8060/`)).toEqual({ host: source, port: 8_060 });
  });
});

/** The place that an answer points to is its sender, written as it is, or it is not looked at. */
const bad: Readonly<Record<string, string>> = {
  "another place": `
    http://127.0.0.1:8060/ http://localhost:8060/ http://169.254.169.254/latest/meta-data/ http://0.0.0.0:8060/
    http://192.168.1.41:8060/ http://192.168.1.4:8060/ http://192.168.1.400:8060/ http://10.0.0.1/ http://[::1]:8060/
    http://[fe80::1]/ http://evil.test/192.168.1.40 http://evil.test:8060/ http://192.168.1.40.evil.test/`,
  "the sender's own address in disguise: numbers that only some readers take for it": `
    http://3232235816:8060/ http://0xc0a80128:8060/ http://0300.0250.01.050:8060/ http://192.168.296:8060/
    http://192.168.001.040:8060/ http://192.168.1.40.:8060/ http://[::ffff:192.168.1.40]:8060/
    http://[::ffff:c0a8:128]:8060/ http://１９２.168.1.40:8060/ http://192。168。1。40:8060/`,
  "somebody else behind the sender's address": `
    http://192.168.1.40@evil.test/ http://user:pass@192.168.1.40:8060/ http://192.168.1.40:8060@evil.test/
    http://192.168.1.40%2eevil.test/ http://192.168.1.40\\@evil.test/ http://192.168.1.40#@evil.test/
    http://192.168.1.40?@evil.test/`,
  "another scheme, or none": `
    https://192.168.1.40:8060/ ftp://192.168.1.40/ file:///etc/passwd file://192.168.1.40/x data:text/xml,<a/>
    intent://192.168.1.40:8060/#Intent;end javascript:alert(1) //192.168.1.40:8060/ 192.168.1.40:8060 /
    http:192.168.1.40:8060/ http:/192.168.1.40:8060/ http:///192.168.1.40:8060/ http:\\\\192.168.1.40:8060/
    http:// http://:8060/`,
  "a port that is none": `
    http://192.168.1.40:0/ http://192.168.1.40:65536/ http://192.168.1.40:-1/ http://192.168.1.40:8060x/`,
};

describe("T6 LOCATION", () => {
  test.each(Object.entries(bad))("%s is refused", (_what, locations) => {
    for (const location of locations.trim().split(/\s+/)) expect([location, at(location)]).toEqual([location, null]);
  });

  test("that is empty, has a space in it or is too long is refused", () => {
    for (const location of ["", " ", `http://${source}:80 60/`, `http://${source}:8060/${"x".repeat(2_048)}`])
      expect([location, at(location)]).toEqual([location, null]);
  });

  test("that is missing, or comes twice, is refused or read once", () => {
    expect(judge(["ST: roku:ecp"])).toBeNull();
    const twice = [`LOCATION: http://${source}:8060/`, "LOCATION: http://127.0.0.1:7272/"];
    expect(judge(["ST: roku:ecp", ...twice])).toEqual({ host: source, port: 8060 });
    expect(judge(["ST: roku:ecp", ...twice.reverse()])).toBeNull();
  });

  test("that names this machine is taken only from this machine", () => {
    expect(at("http://127.0.0.1:8060/", "127.0.0.1")).toEqual({ host: "127.0.0.1", port: 8060 });
    expect(at("http://127.0.0.1:8060/", "127.0.0.2")).toBeNull();
  });
});
