/** The rules of DESIGN.md 4 and STYLE.md, held against the files as they are. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isMade, root, type Source, sourceOf, sourcesIn } from "./support/sources.ts";

interface Layer {
  readonly name: string;
  readonly files: RegExp;
  /** Layers below it, which it may use. Its own files it may use as well. */
  readonly uses: readonly string[];
  /** Layers of which it may know the types, and nothing that runs. */
  readonly knows?: readonly string[];
  readonly why: string;
}

/** From the bottom to the top; DESIGN.md 4: "imports go one way". */
const layers: readonly Layer[] = [
  {
    name: "words",
    files: /^src\/(api\/errors|system\/[\w-]+|runtime\/[\w-]+)\.ts$/,
    uses: [],
    why: "errors, logs, files and the runtime know nothing of televisions",
  },
  {
    name: "operation-routes",
    files: /^src\/api\/(routes|limits|issues)\.ts$/,
    uses: [],
    why: "method and path of each operation, limits, and the texts of refusals, for rooms that must not load the schemas",
  },
  {
    name: "contract",
    files: /^src\/(platforms\/(?!index)|transport\/)[\w-]+\.ts$/,
    uses: ["words"],
    why: "what a platform is, and the wires that all of them call over; it knows none of them",
  },
  {
    name: "config",
    files: /^src\/config\//,
    uses: ["words"],
    why: "settings are read and written, whoever they are for",
  },
  {
    name: "api",
    files: /^src\/api\/(operations|schemas|events|scenes)\.ts$/,
    uses: ["words", "contract", "config", "operation-routes"],
    why: "the one statement of the wire format",
  },
  {
    name: "document",
    files: /^src\/api\/openapi\.ts$/,
    uses: ["words", "contract", "config", "api"],
    knows: ["operation-routes"],
    why: "the OpenAPI document says what the table of operations says, and nothing of how it is done",
  },
  {
    name: "client",
    files: /^src\/api\/client(-\w+)?\.ts$/,
    uses: ["words", "operation-routes"],
    knows: ["api"],
    why: "a client is made from the same table as the server, and runs without it",
  },
  {
    name: "agents",
    files: /^src\/mcp\//,
    uses: ["words", "contract", "operation-routes", "api", "client"],
    why: "tools for agents are a client of the API like any other, inside the daemon and out of it",
  },
  {
    name: "mqtt",
    files: /^src\/mqtt\//,
    uses: ["words", "contract", "operation-routes", "client"],
    knows: ["config", "api"],
    why: "a client of the API like any other, whose caller is on a broker",
  },
  {
    name: "page",
    files: /^src\/web\//,
    uses: ["operation-routes"],
    knows: ["words", "api", "client"],
    why: "the page is a client of the API like any other, and knows no more than its types",
  },
  {
    name: "platform",
    files: /^src\/platforms\/[\w-]+\//,
    uses: ["words", "contract"],
    why: "a platform is a folder that fulfils the contract and knows nobody who uses it",
  },
  {
    name: "platforms",
    files: /^src\/platforms\/index\.ts$/,
    uses: ["contract", "platform"],
    why: "the one file that lists the platforms, a line each",
  },
  {
    name: "discovery",
    files: /^src\/discovery\//,
    uses: ["words", "contract"],
    knows: ["config"],
    why: "it asks what platforms tell it to ask, and knows none",
  },
  {
    name: "devices",
    files: /^src\/devices\//,
    uses: ["words", "contract", "operation-routes", "api", "discovery"],
    knows: ["config"],
    why: "it gets its platforms, its config and its discovery as arguments",
  },
  {
    name: "scenes",
    files: /^src\/scenes\//,
    uses: ["words", "contract", "config", "operation-routes", "api", "devices"],
    why: "a scene is checked against the devices, and asks for each step as a caller of the API would",
  },
  {
    name: "routes",
    files: /^src\/server\/(?!app\.ts)/,
    uses: ["words", "contract", "config", "operation-routes", "api", "document", "devices", "scenes"],
    knows: ["app"],
    why: "a route parses, calls and answers",
  },
  {
    name: "doctor",
    files: /^src\/doctor\//,
    uses: ["words", "contract", "config", "operation-routes", "client", "mqtt", "discovery"],
    knows: ["api"],
    why: "it looks for what is in the way, from inside the daemon or before there is one, and asks as a client",
  },
  {
    name: "app",
    files: /^src\/server\/app\.ts$/,
    uses: ["api", "routes"],
    knows: ["words", "config", "client", "devices"],
    why: "the app is a value: it joins routes, and is given what they work with",
  },
  {
    name: "composition",
    files: /^src\/(zapd|daemon)\.ts$/,
    uses: ["words", "contract", "config", "platforms", "discovery", "devices", "app", "mqtt", "doctor", "agents"],
    why: "the only place that builds things and joins them",
  },
  {
    name: "simulators",
    files: /^src\/simulators\//,
    uses: [],
    why: "one that shared code with its client would prove nothing",
  },
  {
    name: "cli",
    files: /^src\/cli\//,
    uses: [
      "words",
      "contract",
      "config",
      "operation-routes",
      "discovery",
      "client",
      "mqtt",
      "doctor",
      "composition",
      "simulators",
      "agents",
    ],
    knows: ["api"],
    why: "a client of the daemon; only serve and demo start one",
  },
  {
    name: "module",
    files: /^src\/fetch\.ts$/,
    uses: ["config", "composition"],
    why: "zapd for a server of somebody else",
  },
  { name: "program", files: /^src\/main\.ts$/, uses: ["cli"], why: "it runs a command, and that is all" },
];

/** What uses a layer that only some files of its own layer may use. */
const onlyIn: readonly {
  readonly of: string;
  readonly in: RegExp;
  readonly uses: readonly string[];
  readonly why: string;
}[] = [
  {
    of: "cli",
    in: /^src\/cli\/(serve|demo)\.ts$/,
    uses: ["composition", "simulators"],
    why: "every other command talks to a daemon that runs",
  },
  {
    of: "cli",
    in: /^src\/cli\/(serve|demo)\.ts$/,
    uses: ["discovery"],
    why: "only a daemon and the doctor look at the network by themselves",
  },
  {
    of: "cli",
    in: /^src\/cli\/(completion|help|key-commands|play)\.ts$/,
    uses: ["contract"],
    why: "the names of keys are completed, told by the help, and commands, while no daemon runs; the command itself serves a file",
  },
  {
    of: "cli",
    in: /^src\/cli\/(completion|mcp)\.ts$/,
    uses: ["agents"],
    why: "the tools of agents are for agents: no other command needs them; its clients are completed",
  },
  {
    of: "cli",
    in: /^src\/cli\/fleet[\w-]*\.ts$/,
    uses: ["mqtt"],
    why: "a fleet alone is behind a broker",
  },
  { of: "devices", in: /^src\/devices\/adding\.ts$/, uses: ["discovery"], why: "there devices are added" },
];

const sources = sourcesIn("src");
const layerOf = (path: string) => layers.find((layer) => layer.files.test(path));
/** What a file imports of ours; what a script makes is no file of ours, and is loaded by one route only. */
const inside = (source: Source) =>
  source.imports.filter(({ from }) => from.startsWith("src/") && !isMade(from) && !from.endsWith(".css"));

test("the reader of these rules sees what it must", () => {
  const some = ['type { A } from "./a.ts"', '{ type B } from "../b.ts"', '"d"', '{\n  f,\n} from "f"'];
  const text = [
    ...some.map((one) => `import ${one}; // Bun`),
    'export * from "c";\nconst x = `Deno // no`, y = /"\\/\\//;\n/* any */',
    ...["await", "type T = typeof"].map((before, at) => `${before} ${"import"}("${at === 0 ? "./late.ts" : "e"}");`),
  ].join("\n");
  const { imports, code } = sourceOf("src/x/y.ts", text);
  const seen = imports.map(({ from, typeOnly, late }) => `${from}${typeOnly ? " type" : ""}${late ? " late" : ""}`);
  expect(seen).toEqual(["src/x/a.ts type", "src/b.ts", "d", "f", "c", "src/x/late.ts late", "e type late"]);
  expect(code).not.toMatch(/Bun|\bany\b/);
  expect(code).toContain("`Deno // no`");
  // Comments are taken out, and nothing else: what runs stays the same.
  for (const { path, code, text } of sources) {
    const transpiler = new Bun.Transpiler({ loader: path.endsWith("x") ? "tsx" : "ts" });
    expect(transpiler.transformSync(code)).toBe(transpiler.transformSync(text));
  }
  expect(sources.length).toBeGreaterThan(50);
});

describe("imports go one way", () => {
  test("each file has its place, and each place a file", () => {
    expect(sources.filter((source) => !layerOf(source.path)).map((source) => source.path)).toEqual([]);
    for (const layer of layers)
      expect([layer.name, sources.some(({ path }) => layer.files.test(path))]).toEqual([layer.name, true]);
  });

  test("the table itself goes one way", () => {
    for (const [at, layer] of layers.entries()) {
      const below = layers.slice(0, at).map((one) => one.name);
      expect([layer.name, layer.uses.filter((name) => !below.includes(name))]).toEqual([layer.name, []]);
    }
  });

  test("no file uses what is above it", () => {
    const wrong = sources.flatMap((source) => {
      const own = layerOf(source.path);
      return inside(source).flatMap(({ from, typeOnly }) => {
        const other = layerOf(from);
        const fine =
          other === own ||
          own?.uses.includes(other?.name ?? "") ||
          (typeOnly && own?.knows?.includes(other?.name ?? ""));
        return fine ? [] : [`${source.path} imports ${from}; ${own?.name}: ${own?.why}`];
      });
    });
    expect(wrong).toEqual([]);
  });

  test("what some files of a layer may use, others do not", () => {
    for (const rule of onlyIn) {
      const others = sources.filter(({ path }) => layerOf(path)?.name === rule.of && !rule.in.test(path));
      const wrong = others.flatMap((source) =>
        inside(source)
          .filter(({ from, typeOnly }) => !typeOnly && rule.uses.includes(layerOf(from)?.name ?? ""))
          .map(({ from }) => `${source.path} imports ${from}: ${rule.why}`),
      );
      expect(wrong).toEqual([]);
    }
  });

  test("what the page is made into is loaded by its route alone, and late", () => {
    const uses = sources.flatMap(({ path, imports }) =>
      imports.filter(({ from }) => isMade(from)).map((one) => ({ path, ...one })),
    );
    expect(uses.map(({ path, late }) => `${path}${late ? "" : " early"}`)).toEqual([
      "src/server/page.ts",
      "src/server/page.ts",
    ]);
  });

  test("no platform imports another", () => {
    const wrong = sources.flatMap((source) => {
      const own = /^src\/platforms\/([\w-]+)\//.exec(source.path)?.[1];
      return inside(source)
        .filter(
          ({ from }) => own && /^src\/platforms\/[\w-]+\//.test(from) && !from.startsWith(`src/platforms/${own}/`),
        )
        .map(({ from }) => `${source.path} imports ${from}`);
    });
    expect(wrong).toEqual([]);
  });

  test("there are no cycles of what runs", () => {
    const uses = new Map(
      sources.map((source) => [
        source.path,
        // What is loaded when it is needed is loaded after what needs it.
        inside(source)
          .filter((one) => !one.typeOnly && !one.late)
          .map((one) => one.from),
      ]),
    );
    const done = new Set<string>();
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) throw new Error(`a cycle: ${[...way.slice(way.indexOf(path)), path].join(" → ")}`);
      if (done.has(path)) return;
      for (const next of uses.get(path) ?? []) visit(next, [...way, path]);
      done.add(path);
    };
    for (const path of uses.keys()) visit(path, []);
  });

  test("whatever is imported is there", () => {
    for (const source of [...sources, ...sourcesIn("test")])
      for (const { from } of source.imports.filter((one) => /^(src|test)\//.test(one.from) && !isMade(one.from)))
        expect([source.path, from, existsSync(join(root, from))]).toEqual([source.path, from, true]);
  });
});

/** Methods that read a text to decide by it. */
const readers = "includes|match|matchAll|startsWith|endsWith|search|indexOf|split|test|exec|replace|replaceAll";
/** Where a failure keeps its words: `message` and `hint` of ours, `words` of a device's. */
const prose = "(?:message|hint|stack|words)";
const decisions: readonly RegExp[] = [
  // error.message.includes("…"), and error?.message.split(" ")
  new RegExp(`\\.(?:message|hint|stack)\\)?\\??\\.(?:${readers})\\(`),
  // /…/.test(error.message), and known.includes(error.hint)
  new RegExp(`\\.(?:${readers}|has)\\([\\w?.#]+\\.${prose}[),]`),
  // /…/.test(textOf(error))
  new RegExp(`\\.(?:${readers}|has)\\((?:textOf|String)\\(\\w*[eE]rror`),
  // error.message === "…", and switch (error.message)
  /\.(?:message|hint|stack)\s*[!=]==\s*["'`]/,
  /switch \([^)]*\.(?:message|hint|stack|words)\b/,
];
/** Lines that may: they lay a text out for people, or read the field in which a device's own protocol says what is wrong. */
const allowed: readonly { readonly path: string; readonly line: RegExp; readonly why: string }[] = [
  { path: "src/cli/explain.ts", line: /message\.replace\(/, why: "the case of a first letter on a terminal" },
  { path: "src/platforms/webos/apps.ts", line: /error\.words/, why: "old firmware says it in `errorText` alone" },
];

describe("no decision is made by the text of an error", () => {
  const found = (source: Source) =>
    source.code.split("\n").filter((line) => decisions.some((pattern) => pattern.test(line)));

  test("the reader of this rule sees what it must", () => {
    for (const line of [
      'if (error.message.includes("connection")) return;',
      "throw /^[a-z]/.test(error.message) ? one : other;",
      'if (failed.message === "hung up") return;',
      "switch (problem.message) {",
      "const [word] = error?.message.split(' ');",
      "return /gone/.test(textOf(error));",
      "return /blacklisted/i.test(error.words);",
    ])
      expect([line, found(sourceOf("src/x.ts", line)).length]).toEqual([line, 1]);
    for (const line of ["throw error.reworded(error.message);", "log.warn(error.message);", 'error.code === "x"'])
      expect([line, found(sourceOf("src/x.ts", line)).length]).toEqual([line, 0]);
  });

  test("anywhere in src", () => {
    const wrong = sources
      .filter(({ path }) => !path.startsWith("src/simulators/"))
      .flatMap((source) =>
        found(source)
          .filter((line) => !allowed.some((one) => one.path === source.path && one.line.test(line)))
          .map((line) => `${source.path}: ${line.trim()}`),
      );
    expect(wrong).toEqual([]);
  });

  test("and each line that may do so is there", () => {
    for (const { path, line } of allowed) {
      const source = sources.find((one) => one.path === path);
      expect([path, source && found(source).some((one) => line.test(one))]).toEqual([path, true]);
    }
  });
});

test("no platform opens a socket: what it talks over is in src/transport", () => {
  const sockets = /^(node:)?(net|tls|dgram|http|https|http2)$|^(ws|undici)$/;
  const wrong = sources
    .filter(({ path }) => path.startsWith("src/platforms/"))
    .flatMap(({ path, imports, code }) => [
      ...imports.filter(({ from }) => sockets.test(from)).map(({ from }) => `${path} imports ${from}`),
      ...(/\b(?:fetch|new WebSocket)\(|getBuiltinModule\("node:(?:net|tls|dgram|https?)"/.test(code)
        ? [`${path} calls`]
        : []),
    ]);
  expect(wrong).toEqual([]);
});

test("no literal is spread where its parts can stand, to steer the formatter", () => {
  const spread = /^\s*\.\.\.(?:\{|\{.*\}|\[.*\]),?$/;
  const wrong = [...sources, ...sourcesIn("test")].flatMap(({ path, code }) =>
    code.split("\n").flatMap((line) => (spread.test(line) ? [`${path}: ${line.trim()}`] : [])),
  );
  expect(wrong).toEqual([]);
});
