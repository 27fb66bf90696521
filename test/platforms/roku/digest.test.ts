import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { answerChallenge, type DigestRequest, readChallenge } from "../../../src/platforms/roku/digest.ts";

/** The answer that the RFCs want, written from their text, and held against their own examples below. */
function expected(fields: Readonly<Record<string, string>>, password: string, method: string): string {
  const algorithm = fields["algorithm"] ?? "MD5";
  const hash = (text: string) =>
    createHash(algorithm.startsWith("SHA-256") ? "sha256" : "md5")
      .update(text)
      .digest("hex");
  const { username, realm, nonce, nc, cnonce, qop, uri } = fields;
  const user = hash(`${username}:${realm}:${password}`);
  const first = algorithm.endsWith("-sess") ? hash(`${user}:${nonce}:${cnonce}`) : user;
  const second = hash(`${method}:${uri}`);
  return hash(`${first}:${nonce}:${nc}:${cnonce}:${qop}:${second}`);
}

/** The fields of an `Authorization` header, as a server reads them. */
function fieldsOf(header: string): Record<string, string> {
  expect(header).toStartWith("Digest ");
  const pairs = [...header.slice(7).matchAll(/(\w+)=(?:"([^"]*)"|([^,\s]+))/g)];
  return Object.fromEntries(pairs.map(([, name = "", quoted, bare]) => [name, quoted ?? bare ?? ""]));
}

const rfc2617 = {
  challenge:
    'Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"',
  request: { user: "Mufasa", password: "Circle Of Life", method: "GET", uri: "/dir/index.html" },
};

describe("the examples of the RFCs", () => {
  const common = { username: "Mufasa", uri: "/dir/index.html", nc: "00000001", qop: "auth" };
  const example7616 = {
    ...common,
    realm: "http-auth@example.org",
    nonce: "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
    cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
  };

  test("hold for the check that this file makes", () => {
    const example2617 = {
      ...common,
      realm: "testrealm@host.com",
      nonce: "dcd98b7102dd2f0e8b11d0f600bfb0c093",
      cnonce: "0a4f113b",
    };
    expect(expected(example2617, "Circle Of Life", "GET")).toBe("6629fae49393a05397450978507c4ef1");
    expect(expected({ ...example7616, algorithm: "MD5" }, "Circle of Life", "GET")).toBe(
      "8ca523f5e9506fed4657c9700eebdbec",
    );
    expect(expected({ ...example7616, algorithm: "SHA-256" }, "Circle of Life", "GET")).toBe(
      "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
    );
  });

  test("RFC 2617 and 7616, with qop, are answered as their servers compute it", () => {
    for (const algorithm of [
      "",
      ", algorithm=MD5",
      ", algorithm=SHA-256",
      ", algorithm=MD5-sess",
      ', algorithm="SHA-256-sess"',
    ]) {
      const challenge = readChallenge(rfc2617.challenge + algorithm) ?? never();
      const fields = fieldsOf(answerChallenge(challenge, rfc2617.request));
      expect(fields).toMatchObject({ qop: "auth", nc: "00000001", opaque: "5ccc069c403ebaf9f0171e9517f40e41" });
      expect(fields["response"]).toBe(expected(fields, rfc2617.request.password, "GET"));
    }
  });
});

describe("a challenge", () => {
  const request: DigestRequest = {
    user: "rokudev",
    password: "päss wörd:",
    method: "POST",
    uri: "/plugin_install?dcl_enabled=1",
  };

  test("of a set: qop first, a decimal nonce, no algorithm, no opaque", () => {
    const challenge = readChallenge('Digest qop="auth", realm="rokudev", nonce="1732133999"');
    expect(challenge).toEqual({ realm: "rokudev", nonce: "1732133999", qop: true, opaque: null, algorithm: null });
    const fields = fieldsOf(answerChallenge(challenge ?? never(), request));
    expect(fields).toMatchObject({ username: "rokudev", uri: request.uri });
    expect(fields["response"]).toBe(expected(fields, request.password, "POST"));
    expect(Object.keys(fields)).not.toContain("algorithm");
    expect(Object.keys(fields)).not.toContain("opaque");
  });

  test("of brs-desktop: another realm, an opaque, no spaces behind the commas", () => {
    expect(readChallenge('Digest realm="BrightScript Simulator",qop="auth",nonce="a1,b2",opaque="c3"')).toEqual({
      realm: "BrightScript Simulator",
      nonce: "a1,b2",
      qop: true,
      opaque: "c3",
      algorithm: null,
    });
  });

  test("is read in any case, with bare values, behind another scheme", () => {
    expect(readChallenge('Basic realm="x", DIGEST Realm=rokudev, NONCE=12, QOP=auth')).toMatchObject({
      realm: "rokudev",
      nonce: "12",
      qop: true,
    });
  });

  test("that offers only what is not spoken here has no qop, as has one of RFC 2069; one without nonce, or of another scheme, is none", () => {
    expect(readChallenge('Digest realm="r", nonce="n", qop="auth-int"')?.qop).toBe(false);
    expect(readChallenge('Digest realm="r", nonce="n", qop="auth-int, auth"')?.qop).toBe(true);
    expect(readChallenge('Digest realm="r", nonce="n"')?.qop).toBe(false);
    for (const header of ["", "Basic realm=x", 'Digest realm="r"', "Digest", "Bearer nonce=1"])
      expect(readChallenge(header)).toBeNull();
  });

  test("is answered with another cnonce each time, and never with the password", () => {
    const challenge = readChallenge('Digest qop="auth", realm="r", nonce="1"') ?? never();
    const headers = [answerChallenge(challenge, request), answerChallenge(challenge, request)];
    expect(fieldsOf(headers[0] ?? "")["cnonce"]).not.toBe(fieldsOf(headers[1] ?? "")["cnonce"]);
    expect(headers.join()).not.toContain(request.password);
  });
});

function never(): never {
  throw new Error("the challenge was not read");
}
