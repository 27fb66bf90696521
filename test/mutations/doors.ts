/**
 * Ways to weaken the doors, each of which a test must notice: one piece of a file is replaced, and the tests named must then
 * fail. `find` stands in its file exactly once.
 */

export interface Mutation {
  readonly name: string;
  /** From the top of the project. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Files of tests, of which at least one must fail. */
  readonly tests: readonly string[];
}

const guard = "src/routes/guard.ts";
const guardTests = ["test/routes/guard.test.ts", "test/routes/guard-properties.test.ts"];
const requestTests = ["test/routes/guard-requests.test.ts", "test/routes/guard-properties.test.ts"];
const body = "src/routes/body.ts";
const zip = "src/platforms/zip.ts";
const zipTests = ["test/platforms/zip.test.ts"];
const frames = "src/platforms/websocket-frames.ts";
const floodTests = ["test/security/websocket-floods.test.ts"];

export const mutations: readonly Mutation[] = [
  {
    ...{ name: "an origin is allowed by its beginning", file: guard, tests: guardTests },
    find: "cors_allowed_origins.includes(origin)",
    replace: "cors_allowed_origins.some((one) => origin.startsWith(one))",
  },
  {
    ...{ name: "origins are compared without case", file: guard, tests: guardTests },
    find: "cors_allowed_origins.includes(origin)",
    replace: "cors_allowed_origins.includes(origin.toLowerCase())",
  },
  {
    ...{ name: "a null origin is none", file: guard, tests: guardTests },
    find: "  if (origin !== undefined)\n",
    replace: '  if (origin !== undefined && origin !== "null")\n',
  },
  {
    ...{ name: "Sec-Fetch-Site is not looked at", file: guard, tests: guardTests },
    find: 'site !== undefined && site !== "same-origin" && site !== "none"',
    replace: 'site === "cross-site" && site.length === 0',
  },
  {
    ...{ name: "same-site pages are ours", file: guard, tests: guardTests },
    find: 'site !== "same-origin" && site !== "none"',
    replace: 'site !== "same-origin" && site !== "same-site" && site !== "none"',
  },
  {
    ...{ name: "listed origins are allowed with CORS off", file: guard, tests: guardTests },
    find: "const allowed = cors_enabled && origin",
    replace: "const allowed = origin",
  },
  {
    ...{ name: "a Host may go on after its port", file: guard, tests: requestTests },
    find: "(?::(\\d{1,5}))?$/",
    replace: "(?::(\\d{1,5}))?/",
  },
  {
    ...{ name: "a Host may begin with anything", file: guard, tests: requestTests },
    find: "/^(?:127\\.0\\.0\\.1",
    replace: "/(?:127\\.0\\.0\\.1",
  },
  {
    ...{ name: "any Host may read", file: guard, tests: requestTests },
    find: '      checkHost(c.req.header("host"), hosts);',
    replace: '      if (c.req.method !== "GET") checkHost(c.req.header("host"), hosts);',
  },
  {
    ...{ name: "ports of a Host are not numbers", file: guard, tests: requestTests },
    find: "(match && Number(match[1] ?? 80) <= 65_535)",
    replace: "match",
  },
  {
    ...{ name: "our own calls are taken", file: guard, tests: requestTests },
    find: "      checkLoop(c.req.header(marker));\n",
    replace: "",
  },
  {
    ...{ name: "an upgrade is a read", file: guard, tests: requestTests },
    find: ' && c.req.header("upgrade") === undefined',
    replace: "",
  },
  {
    ...{ name: "answers may be shared with other origins", file: guard, tests: ["test/routes/guard-cors.test.ts"] },
    find: '  "cross-origin-resource-policy": "same-origin",\n',
    replace: "",
  },
  {
    ...{ name: "a page need not say that it sends JSON", file: body, tests: ["test/routes/guard.test.ts"] },
    find: "  checkType(request);\n",
    replace: "",
  },
  {
    ...{ name: "the byte cap of a body is lifted", file: body, tests: ["test/routes/limits.test.ts"] },
    find: "jsonBytes: 1024 * 1024",
    replace: "jsonBytes: 1024 ** 3",
  },
  {
    ...{ name: "only the announced length is held", file: body, tests: ["test/routes/limits.test.ts"] },
    find: "      if (size > most) throw tooLarge(most);\n",
    replace: "",
  },
  {
    ...{ name: "a body may be as deep as it likes", file: body, tests: ["test/routes/limits.test.ts"] },
    find: "depth: 32",
    replace: "depth: 1e9",
  },
  {
    ...{ name: "a body may be silent for ever", file: body, tests: ["test/routes/limits.test.ts"] },
    find: "idleMs: 10_000",
    replace: "idleMs: 10_000_000",
  },
  {
    ...{
      name: "a form may have any number of parts",
      file: "src/routes/upload.ts",
      tests: ["test/routes/upload.test.ts"],
    },
    find: "fields: 8,\n        parts: 8,",
    replace: "fields: 1e9,\n        parts: 1e9,",
  },
  {
    ...{ name: "an upload is left behind", file: "src/routes/upload.ts", tests: ["test/routes/upload.test.ts"] },
    find: "    await rm(path, { force: true });\n",
    replace: "    void rm;\n",
  },
  {
    ...{ name: "the cap of an answer is lifted", file: "src/platforms/http-answer.ts" },
    tests: ["test/platforms/http-answer.test.ts", "test/platforms/http.test.ts"],
    find: "this.#framing.left > this.#maxBytes",
    replace: "this.#framing.left > 1e12",
  },
  {
    ...{ name: "a redirect is followed", file: "src/platforms/http.ts" },
    tests: ["test/platforms/http.test.ts"],
    find: "    const answer = await wire.exchange(exchange, signal);\n",
    replace:
      '    let answer = await wire.exchange(exchange, signal);\n    const to = answer.headers.get("location");\n    if (to) answer = { ...answer, body: await (await fetch(to, { method: exchange.method })).bytes() };\n',
  },
  {
    ...{ name: "a device may be zapd itself", file: "src/platforms/http.ts", tests: ["test/platforms/http.test.ts"] },
    find: "if (surroundings.isOwnDoor(address)) {",
    replace: "if (address.port < 0) {",
  },
  {
    ...{ name: "a document type is read", file: "src/platforms/xml.ts", tests: ["test/platforms/xml.test.ts"] },
    find: "  if (/<!(DOCTYPE|ENTITY)/i.test(text)) throw unreadable();\n",
    replace: "",
  },
  {
    ...{ name: "a document may be as deep as it likes", file: "src/platforms/xml.ts" },
    tests: ["test/platforms/xml.test.ts"],
    find: "const maxDepth = 64;",
    replace: "const maxDepth = 1e9;",
  },
  {
    ...{ name: "an answer to a search may name another host by number", file: "src/platforms/roku/search.ts" },
    tests: ["test/platforms/roku/search.test.ts"],
    find: "literal !== answer.source || ",
    replace: "literal === undefined || ",
  },
  {
    ...{ name: "a host may be a group's", file: "src/discovery/hosts.ts", tests: ["test/discovery/hosts.test.ts"] },
    find: "    first >= 224 ||\n",
    replace: "",
  },
  {
    ...{ name: "announcements of other links are heard", file: "src/discovery/mdns.ts" },
    tests: ["test/discovery/mdns.test.ts"],
    find: "if (isOnLink(service.source, one)) ",
    replace: "",
  },
  {
    ...{ name: "one host may take all turns of a scan", file: "src/discovery/intake.ts" },
    tests: ["test/discovery/intake.test.ts"],
    find: " || host.tries >= perHost.candidates",
    replace: "",
  },
  {
    ...{ name: "a link in a package is taken", file: zip, tests: zipTests },
    find: "& 0xf000) === 0xa000",
    replace: "& 0xf000) === 0xb000",
  },
  { ...{ name: "names may climb", file: zip, tests: zipTests }, find: "(|\\.|\\.\\.)$", replace: "(|\\.)$" },
  {
    ...{ name: "names may come twice", file: zip, tests: zipTests },
    find: "    if (names.has(name)) throw invalid(`holds",
    replace: "    if (names.size < 0) throw invalid(`holds",
  },
  {
    ...{ name: "files of a package may overlap", file: zip, tests: zipTests },
    find: "entry.offset < free || ",
    replace: "",
  },
  {
    ...{ name: "a package may be a bomb", file: zip, tests: zipTests },
    find: "ratio: 200",
    replace: "ratio: 200_000",
  },
  {
    ...{ name: "a small file of a package may unpack without end", file: zip, tests: zipTests },
    find: "    if (size > cap) throw invalid(",
    replace: "    if (size > 1e12) throw invalid(",
  },
  {
    ...{ name: "a WebSocket message may be of any size", file: frames, tests: floodTests },
    find: "(this.#message?.bytes ?? 0) + length > maxBytes",
    replace: "(this.#message?.bytes ?? 0) + length > 1e12",
  },
  {
    ...{ name: "a WebSocket message may be in any number of pieces", file: frames, tests: floodTests },
    find: "message.parts.length > this.#limits.maxFragments",
    replace: "message.parts.length > 1e12",
  },
  {
    ...{ name: "characters that cannot be seen reach a terminal", file: "src/log.ts", tests: ["test/log.test.ts"] },
    find: "\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}",
    replace: "",
  },
];
