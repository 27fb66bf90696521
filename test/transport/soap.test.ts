/** UPnP control: what is sent, byte for byte, and what is read from the answers of several stacks. */
import { afterAll, expect, test } from "bun:test";
import { DeviceError } from "../../src/api/errors.ts";
import { DeviceHttp } from "../../src/transport/http.ts";
import { askSoap, escaped, SoapFault, tellSoap, unlessFault } from "../../src/transport/soap.ts";
import { readXml } from "../../src/transport/xml.ts";
import { answer, type HttpDevice, type Saying, startHttpDevice } from "../support/http-device.ts";

const service = "urn:schemas-upnp-org:service:RenderingControl:1";
const path = "/upnp/control/RenderingControl1";
const getVolume = { path, service, action: "GetVolume", args: { InstanceID: 0, Channel: "Master" } };
const never = new AbortController().signal;

const open: { device: HttpDevice; http: DeviceHttp }[] = [];
afterAll(async () => {
  for (const { device, http } of open) {
    http.close();
    await device.stop();
  }
});

async function device(say: Saying) {
  const started = await startHttpDevice(() => say);
  const platformHost = { requestTimeoutMs: () => 2_000, isOwnListener: () => false };
  const one = { device: started, http: new DeviceHttp({ address: started.address, platformHost }) };
  open.push(one);
  return one;
}

const envelope = (body: string) =>
  `<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://schemas.xmlsoap.org/soap/envelope/"><SOAP-ENV:Body>${body}</SOAP-ENV:Body></SOAP-ENV:Envelope>`;
const fault = (code: number, words: string) =>
  `<s:Fault><faultcode>s:Client</faultcode><faultstring>UPnPError</faultstring><detail><UPnPError xmlns="urn:schemas-upnp-org:control-1-0"><errorCode>${code}</errorCode><errorDescription>${words}</errorDescription></UPnPError></detail></s:Fault>`;

async function failureOf(say: Saying) {
  const { http } = await device(say);
  return askSoap(http, getVolume, never).then(
    () => expect.unreachable("it failed"),
    (error: unknown) => (error instanceof DeviceError ? error : expect.unreachable("a failure of the device")),
  );
}

test("an action is one POST with its envelope, and its values come back by name", async () => {
  const { device: set, http } = await device(
    answer(200, envelope("<u:GetVolumeResponse><CurrentVolume>23</CurrentVolume><Empty/></u:GetVolumeResponse>")),
  );
  expect([...(await askSoap(http, getVolume, never))]).toEqual([
    ["CurrentVolume", "23"],
    ["Empty", ""],
  ]);
  const [heard] = set.heard;
  expect(`${heard?.method} ${heard?.target}`).toBe(`POST ${path}`);
  expect(heard?.head).toContain(`SOAPACTION: "${service}#GetVolume"`);
  expect(heard?.head).toContain('Content-Type: text/xml; charset="utf-8"');
  const body = readXml(heard?.body.toString() ?? "").children[0];
  const action = body?.children[0];
  expect([body?.name, action?.name, action?.attributes]).toEqual(["Body", "u:GetVolume", { "xmlns:u": service }]);
  expect(action?.children.map(({ name, text }) => `${name}=${text}`)).toEqual(["InstanceID=0", "Channel=Master"]);
});

test("a long value comes back whole: the list of what a television takes, a document within this one", async () => {
  const list = Array.from({ length: 500 }, (_, at) => `http-get:*:video/x-kind-${at}:DLNA.ORG_PN=KIND_${at}`).join(",");
  const said = envelope(`<u:GetVolumeResponse><Sink>${list}</Sink></u:GetVolumeResponse>`);
  const { http } = await device(answer(200, said));
  expect((await askSoap(http, getVolume, never)).get("Sink")).toBe(list);
});

test("a text goes as it is, whatever stands in it, and nothing of it becomes markup", async () => {
  const { device: set, http } = await device(answer(200, envelope("<u:XResponse/>")));
  const given = `<item a="1">Tom & 'Jerry' ünï</item>\0\x0b`;
  await tellSoap(http, { path, service, action: "X", args: { Data: given } }, never);
  const sent = readXml(set.heard[0]?.body.toString() ?? "").children[0]?.children[0]?.children[0];
  expect(sent?.children).toEqual([]);
  expect(sent?.text).toBe(given.slice(0, -2));
  expect(escaped("a<b")).toBe("a&lt;b");
});

test("a fault is returned as data, with its code and the matching error of zapd", async () => {
  const told: [Saying, number | null, string][] = [
    [answer(500, envelope(fault(402, "Invalid Args"))), 402, "device_error"],
    [answer(500, envelope(fault(401, "Invalid Action"))), 401, "unsupported_operation"],
    [answer(500, envelope(fault(602, "Optional"))), 602, "unsupported_operation"],
    [answer(500, envelope(fault(606, "Not authorized"))), 606, "device_refused"],
    [answer(200, envelope(fault(718, "Invalid InstanceID"))), 718, "device_error"],
    [answer(500), null, "device_error"],
    [answer(500, "Internal Server Error"), null, "device_error"],
    [answer(500, "<!DOCTYPE html><html><hr></html>"), null, "device_error"],
    // An Onkyo says it without a word; sets that have no such service, too.
    [answer(501), null, "unsupported_operation"],
    [answer(404, "nothing here"), null, "unsupported_operation"],
    [answer(403), null, "device_refused"],
  ];
  for (const [say, errorCode, code] of told) {
    const error = await failureOf(say);
    expect(error).toBeInstanceOf(SoapFault);
    expect([error.code, (error as SoapFault).errorCode]).toEqual([code as typeof error.code, errorCode]);
    expect(error.phase).toBe("answered");
    expect(error.reason).toBe(code === "device_refused" ? "denied" : "protocol");
  }
});

test("a value that a service does not have is missing, but no answer at all is a failure", async () => {
  const ask = async (say: Saying) => unlessFault(askSoap((await device(say)).http, getVolume, never));
  expect(await ask(answer(501))).toEqual(new Map());
  await expect(ask("close")).rejects.toBeInstanceOf(DeviceError);
});

test("a device's words are shown without what could change a line", async () => {
  const error = await failureOf(answer(500, envelope(fault(501, "No\u202e\n\u001b[31m way"))));
  expect(error.message).toBe('refused GetVolume: it says 501 "No [31m way"');
});

test("what is no answer is not taken for one", async () => {
  for (const body of [
    envelope("<u:GetMuteResponse><CurrentMute>1</CurrentMute></u:GetMuteResponse>"),
    "<html><body>hello</body></html>",
    '<!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>',
    "plain",
    "",
    `${"<a>".repeat(500)}`,
  ]) {
    const error = await failureOf(answer(200, body));
    expect([error.code, error.reason]).toEqual(["device_error", "protocol"]);
  }
});

test("a command without an answer is sent once", async () => {
  const { device: set, http } = await device("close");
  await tellSoap(http, { path, service, action: "Play" }, never).then(
    () => expect.unreachable("it failed"),
    (error: unknown) => expect(error).toBeInstanceOf(DeviceError),
  );
  expect(set.heard.length).toBe(1);
});
