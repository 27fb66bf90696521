/** What a caller is told of a device's failure. */
import { expect, test } from "bun:test";
import { protocolError } from "../../src/api/errors.ts";
import { withDeviceName } from "../../src/devices/failures.ts";
import { hungUp } from "../../src/transport/http-connection.ts";

const den = { name: "Den", host: "192.0.2.1", port: 8_060, canWake: false };

test("one that hung up may have done what it was told: it need not be restarted, as one whose answer makes no sense", () => {
  const told = (error: Error) => withDeviceName(error, den, "pressing up");
  expect(told(hungUp("closed the connection without an answer"))).toMatchObject({
    message: "Den closed the connection without an answer while pressing up",
    hint: expect.stringMatching(/^It may have been done all the same/),
  });
  expect(told(protocolError("answered with something that is not HTTP"))).toMatchObject({
    hint: expect.stringMatching(/^Restart the device\./),
  });
});
