/**
 * T14 T35: whose files zapd works with. Files that others own or may write are refused, with the command that mends it; secrets
 * that others could read are made private, and reported; what the user keeps beside zapd's files is neither followed nor removed.
 */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { writeAtomically } from "../../src/system/files.ts";
import { refused } from "../blackbox/checked.ts";
import { install } from "../blackbox/packages.ts";
import { freePort, programWords, startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { validPackage } from "../support/daemon-with-roku.ts";
import { until } from "../support/http-device.ts";
import { requestOf } from "../support/raw-http.ts";
import { sampleOf } from "../support/whole.ts";
import { WiredRoku } from "../support/wired-roku.ts";

const asRoot = process.getuid?.() === 0;
const stranger = 65_534;
const password = "velvet-otter-31";
const noStranger = asRoot ? null : "only root can make files of another user";
if (noStranger !== null) process.stderr.write(`skipped: files of others: ${noStranger}\n`);

const home = mkdtempSync(join(tmpdir(), "zapd-owners-"));
const folder = join(home, "own");
const config = join(folder, "config.toml");
const state = join(folder, "state");
let daemon: TestDaemon | undefined;

beforeEach(() => {
  rmSync(home, { recursive: true, force: true });
  for (const path of [home, folder, state]) mkdirSync(path, { mode: 0o700 });
});
afterAll(() => rmSync(home, { recursive: true, force: true }));
afterEach(async () => {
  await daemon?.dispose();
  daemon = undefined;
});

async function write(mode = 0o600, dev = "", path = config): Promise<void> {
  const port = await freePort();
  const text = [
    `[daemon]\nhttp_port = ${port}\nlog_level = "debug"`,
    `[discovery]\non_start = false\ninterval_s = 0\ninterfaces = ["lo"]`,
    ...(dev === "" ? [] : [`[dev]\nvendor_password = "${dev}"`]),
  ].join("\n");
  writeFileSync(path, `${text}\n`);
  chmodSync(path, mode);
}

const credentials = (kept: object) => `${JSON.stringify({ version: 1, credentials: kept })}\n`;
const someSecret = { "28fba1a9-27d8-5b21-9bc4-3568da07f305": { key: "c4n-key-0001" } };

async function started(): Promise<TestDaemon> {
  daemon = await startTestDaemon({ folder });
  return daemon;
}

/** The log comes by a pipe of its own, which may be behind the answer. */
const logged = (text: string) => until(`the log has "${text}"`, () => daemon?.log().includes(text) === true);
const warnings = async () => (await daemon?.api("GET", "/health"))?.body.data.warnings.join("\n") as string;

/** The message with which a start is refused. */
async function refusal(): Promise<string> {
  const [program = "", ...words] = programWords();
  const child = spawn(program, [...words, "serve", "--config", config], {
    env: { ...process.env, ZAPD_STATE_DIR: state },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  child.stderr.on("data", (bytes: Buffer) => {
    log += bytes.toString();
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 8_000);
  const code = await new Promise((resolve) => child.on("close", resolve));
  clearTimeout(timer);
  expect([code, log]).toEqual([78, expect.stringContaining('"level":"error"')]);
  return JSON.parse(log.split("\n").find((line) => line.includes('"level":"error"')) ?? "{}").message;
}

/** Runs the command that a refusal names. */
function mend(message: string): void {
  const command = /(?:Change its mode|[Ii]f you trust it): (.+)$/.exec(message)?.[1] ?? "";
  expect(command).toMatch(/^ch(mod|own) /);
  expect(spawnSync("sh", ["-c", command]).status).toBe(0);
}

/** A problem with files, how it is made, and the path that the refusal names. */
type Case = readonly [what: string, spoil: () => unknown, blamed: string];

const give = (path: string) => chownSync(path, stranger, stranger);
/** Puts links in the place of the config, of which the last leads to it. */
function linkConfig(between: string, mode = 0o600): void {
  const elsewhere = join(folder, "dotfiles.toml");
  writeFileSync(elsewhere, readFileSync(config));
  chmodSync(elsewhere, mode);
  rmSync(config);
  symlinkSync(relative(folder, between), config);
  symlinkSync(elsewhere, between);
}
const between = join(folder, "between");
const kept = join(state, "credentials.json");
const open = join(home, "open");
const put = (path: string, mode: number, text = "{}") => {
  writeFileSync(path, text);
  chmodSync(path, mode);
};
const stateFiles = ["devices.json", "devices.json.bak", "apps.json", "credentials.json"].map((name) =>
  join(state, name),
);

const openToOthers: readonly Case[] = [
  ["everyone may write the config", () => chmodSync(config, 0o646), config],
  ["its group may write a config with the password", () => write(0o660, password), config],
  ["everyone may write the folder of the config", () => chmodSync(folder, 0o777), folder],
  ["everyone may write a folder far above", () => chmodSync(home, 0o707), home],
  ["everyone may write the state", () => chmodSync(state, 0o707), state],
  ["everyone may write the state, which is sticky", () => chmodSync(state, 0o1777), state],
  [
    "its group may write a state with secrets",
    () => {
      put(kept, 0o600, credentials(someSecret));
      chmodSync(state, 0o770);
    },
    state,
  ],
  ["its group may write the secrets", () => put(kept, 0o660, credentials(someSecret)), kept],
  ...stateFiles.map((path): Case => [`everyone may write ${basename(path)}`, () => put(path, 0o606), path]),
  ...["uploads", "icons"].map((name): Case => {
    const path = join(state, name);
    const make = () => {
      mkdirSync(path);
      chmodSync(path, 0o707);
    };
    return [`everyone may write the folder ${name}`, make, path];
  }),
  ["the config behind two links is open to everyone", () => linkConfig(between, 0o666), join(folder, "dotfiles.toml")],
  [
    "a link to the config stands in a folder that everyone may write",
    () => {
      mkdirSync(open);
      chmodSync(open, 0o777);
      linkConfig(join(open, "between"));
    },
    open,
  ],
];
const ofAnother: readonly Case[] = [
  ["the config is another user's", () => give(config), config],
  ["the state is another user's", () => give(state), state],
  ...stateFiles.map(
    (path): Case => [
      `${basename(path)} is another user's`,
      () => {
        put(path, 0o600);
        give(path);
      },
      path,
    ],
  ),
  [
    "a link to the config is another user's",
    () => {
      linkConfig(between);
      lchownSync(between, stranger, stranger);
    },
    between,
  ],
  [
    "a link to the state is another user's",
    () => {
      rmSync(state, { recursive: true });
      mkdirSync(join(folder, "real"), { mode: 0o700 });
      symlinkSync(join(folder, "real"), state);
      lchownSync(state, stranger, stranger);
    },
    state,
  ],
];

describe("T14 T35 a start is refused, and goes well after the command that the refusal names, where", () => {
  async function isRefused(...[, spoil, blamed]: Case): Promise<void> {
    await write();
    await spoil();
    const before = readdirSync(state).toSorted();
    const message = await refusal();
    expect(message).toContain(blamed);
    // Nothing is made, moved or removed where others may write.
    expect(readdirSync(state).toSorted()).toEqual(before);
    mend(message);
    await started();
  }
  test.each(sampleOf(openToOthers, 5))("%s", isRefused);
  test.skipIf(!asRoot).each(sampleOf(ofAnother, 4))(
    `%s${noStranger === null ? "" : ` (skipped: ${noStranger})`}`,
    isRefused,
  );
});

describe("T14 it starts, and warns, where", () => {
  test("only its group may write what holds no secret: the config, the state, a registry", async () => {
    await write(0o664);
    chmodSync(state, 0o770);
    put(kept, 0o600, credentials({}));
    put(join(state, "devices.json"), 0o664, '{"version":1,"devices":[]}');
    await started();
    const told = await warnings();
    for (const path of [config, state, join(state, "devices.json")]) expect(told).toContain(`chmod g-w ${path}`);
    await logged("chmod g-w");
  });

  test("T13 secrets were open to be read: they are closed, and told, in the log and in health", async () => {
    await write(0o644, password);
    put(kept, 0o644, credentials(someSecret));
    await started();
    for (const path of [config, kept]) expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o600]);
    const told = await warnings();
    for (const path of [config, kept]) {
      expect(told).toContain(`${path} contains secrets, and other users could read it (mode 0644)`);
      await logged(path);
    }
  });

  test("a config without a password may be readable by all, and is followed through the user's own links", async () => {
    const elsewhere = join(folder, "dotfiles.toml");
    await write();
    linkConfig(between, 0o644);
    const own = await started();
    expect(await warnings()).toBe("");
    expect(statSync(elsewhere).mode & 0o777).toBe(0o644);
    expect((await own.api("PATCH", "/config", { "dev.vendor_password": password })).status).toBe(200);
    expect([lstatSync(config).isSymbolicLink(), lstatSync(elsewhere).mode & 0o777]).toEqual([true, 0o600]);
    expect(readFileSync(elsewhere, "utf8")).toContain(password);
  });
});

describe("T14 while it runs", () => {
  const calls = [
    ["GET", "/config", undefined],
    ["POST", "/config/reload", undefined],
    ["PATCH", "/config", { "discovery.timeout_ms": 900 }],
  ] as const;
  const addPassword = () => appendFileSync(config, `[dev]\nvendor_password = "${password}"\n`);
  const spoilt: readonly (readonly [what: string, ofAnother: boolean, spoil: () => void])[] = [
    ["that everyone may write", false, () => chmodSync(config, 0o666)],
    [
      "with the password that its group may write",
      false,
      () => {
        addPassword();
        chmodSync(config, 0o660);
      },
    ],
    ["of another user", true, () => give(config)],
    [
      "behind another user's link",
      true,
      () => {
        renameSync(config, `${config}.real`);
        symlinkSync(`${config}.real`, config);
        lchownSync(config, stranger, stranger);
      },
    ],
  ];
  for (const [what, ofAnother, spoil] of spoilt)
    test.skipIf(ofAnother && !asRoot)(`a config ${what} is neither taken up nor written`, async () => {
      await write();
      const own = await started();
      spoil();
      const text = readFileSync(config, "utf8");
      for (const [method, path, body] of calls) {
        const answer = await own.api(method, path, body);
        expect([method, answer.status, answer.body.error?.code]).toEqual([method, 500, "config_invalid"]);
        expect(answer.body.error.message).toContain(config);
        expect(answer.body.error.hint).toMatch(/ch(mod|own) /);
      }
      expect(readFileSync(config, "utf8")).toBe(text);
      expect((await own.api("GET", "/health")).status).toBe(200);
    });

  test("a password that is written into a config that all may read is closed when it is taken up", async () => {
    await write(0o644);
    const own = await started();
    addPassword();
    expect((await own.api("POST", "/config/reload")).status).toBe(200);
    expect(statSync(config).mode & 0o777).toBe(0o600);
    expect(await warnings()).toContain("contains secrets");
    await logged("contains secrets");
  });
});

const whyNoOther = !asRoot ? "not run by root" : Bun.which("setpriv") === null ? "there is no setpriv" : null;
const skipped = whyNoOther === null ? "" : ` (skipped: ${whyNoOther})`;

describe.skipIf(whyNoOther !== null)(`of an ordinary user${skipped}`, () => {
  const within = ["setpriv", "--reuid", String(stranger), "--regid", String(stranger), "--clear-groups"];
  let own: string;
  beforeEach(async () => {
    // In a folder that another user may enter.
    const open = [tmpdir(), "/var/tmp"].find((path) => (statSync(path).mode & 0o001) !== 0) ?? tmpdir();
    own = mkdtempSync(join(open, "zapd-theirs-"));
    mkdirSync(join(own, "state"), { recursive: true, mode: 0o700 });
    await write(0o644, "", join(own, "config.toml"));
    for (const path of [own, join(own, "state")]) chownSync(path, stranger, stranger);
  });
  const start = (env: Record<string, string> = {}) =>
    startTestDaemon({ folder: own, within, env: { HOME: own, TMPDIR: own, ...env } });

  test("T14 their own files, and those of root, are as good", async () => {
    daemon = await start();
    expect(await warnings()).toBe("");
    expect(statSync(join(own, "state", "zapd.sock")).uid).toBe(stranger);
    chmodSync(own, 0o700);
  });

  test("a user without an account or a home is told which settings to make, and runs with them", async () => {
    const nobody = ["--reuid", "54321", "--regid", "54321", "--clear-groups"];
    const bare = { env: { PATH: process.env["PATH"], DENO_DIR: "/nonexistent" }, cwd: "/", encoding: "utf8" } as const;
    // A service manager does not start it again before somebody has mended that.
    for (const [program, words, status] of [
      [programWords(), "config path", 1],
      [programWords(), "serve", 78],
      [programWords("deno"), "serve", 78],
    ] as const) {
      const told = spawnSync("setpriv", [...nobody, ...program, ...words.split(" ")], bare);
      expect([words, told.status]).toEqual([words, status]);
      expect(told.stderr).toContain("no home folder");
      expect(told.stderr).toContain("Set $HOME, or both $ZAPD_CONFIG and $ZAPD_STATE_DIR");
    }
    for (const path of [own, join(own, "state"), join(own, "config.toml")]) chownSync(path, 54_321, 54_321);
    const known = ["env", "-u", "HOME", "setpriv", ...nobody];
    daemon = await startTestDaemon({ folder: own, within: known, env: { TMPDIR: own } });
    expect(await warnings()).toBe("");
    chmodSync(own, 0o700);
  });

  test("a file of root's that they may not read is left where it is, and the start says what mends it", async () => {
    const file = join(own, "state", "credentials.json");
    writeFileSync(file, '{"version":1,"credentials":{}}', { mode: 0o600 });
    const failure = await start().catch((error: Error) => error.message);
    expect(failure).toContain("ended with 1");
    expect(failure).toContain(`You have no permission to read ${file} (EACCES). Change its owner with chown`);
    expect(readdirSync(join(own, "state")).filter((name) => name.startsWith("credentials"))).toEqual([basename(file)]);
    rmSync(own, { recursive: true });
  });
});

describe("T35 what the user keeps in the state folder", () => {
  /** Every path below a folder, with its content or its kind. */
  function below(path: string): Record<string, string> {
    const found = lstatSync(path);
    if (found.isDirectory())
      return Object.assign({ [path]: "folder" }, ...readdirSync(path).map((name) => below(join(path, name))));
    return { [path]: found.isSymbolicLink() ? "link" : found.isFile() ? readFileSync(path, "latin1") : "other" };
  }
  const precious = () => {
    const folderOf = join(home, "precious");
    mkdirSync(folderOf);
    for (const name of [
      "holiday.zip",
      "upload-1.zip",
      ".devices.json.1-deadbeef.tmp",
      "notes.txt",
      "zapd-upload-8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55.zip",
    ])
      writeFileSync(join(folderOf, name), name);
    return folderOf;
  };

  test("behind a link at uploads stays untouched, and no upload is written there", async () => {
    await write(0o600, password);
    const elsewhere = precious();
    symlinkSync(elsewhere, join(state, "uploads"));
    const before = below(elsewhere);
    const set = await WiredRoku.start();
    try {
      const own = await started();
      expect(below(elsewhere)).toEqual(before);
      await own.api("POST", "/devices", { ...set.address, name: "den" });
      const { message, hint } = refused(await install(own, "den", Buffer.from(validPackage)), "storage_error");
      expect(message).toContain(join(state, "uploads"));
      expect(hint).toContain("Move it away");
      expect(below(elsewhere)).toEqual(before);
    } finally {
      await set.stop();
    }
  });

  test("in a folder of his own called uploads, and beside it, stays: files, links, folders, pipes", async () => {
    await write();
    const elsewhere = precious();
    const uploads = join(state, "uploads");
    mkdirSync(join(uploads, "inner"), { recursive: true });
    writeFileSync(join(uploads, "inner", "deep.txt"), "deep");
    for (const name of ["mine.zip", "upload-8c0d4f4e.zip", "zapd-upload-mine.zip", ".hidden.12-0badcafe.tmp"])
      writeFileSync(join(uploads, name), name);
    const form = "zapd-upload-00000000-0000-4000-8000-00000000000";
    symlinkSync(join(elsewhere, "notes.txt"), join(uploads, `${form}1.zip`));
    mkdirSync(join(uploads, `${form}2.zip`));
    writeFileSync(join(uploads, `${form}2.zip`, "x"), "x");
    for (const name of [
      ".notes.txt.12-0badcafe.tmp",
      ".devices.json.tmp",
      ".devices.json.12-XYZ.tmp",
      "devices.json.12-0badcafe.tmp",
      "devices.json.corrupt-mine",
      "devices.json.old",
      "notes.txt",
    ])
      writeFileSync(join(state, name), name);
    symlinkSync(join(elsewhere, "holiday.zip"), join(state, ".devices.json.12-0badcafe.tmp"));
    mkdirSync(join(state, ".apps.json.12-0badcafe.tmp"));
    writeFileSync(join(state, ".apps.json.12-0badcafe.tmp", "x"), "x");
    const aside = (name: string, at: number) => join(state, `${name}.corrupt-2020-01-0${at}T00-00-00-000Z`);
    for (const at of [1, 2]) {
      mkdirSync(aside("devices.json", at));
      writeFileSync(join(aside("devices.json", at), "x"), "x");
    }
    symlinkSync(elsewhere, aside("devices.json", 3));
    writeFileSync(join(state, "devices.json.corrupt-2020-mine"), "mine");
    // Temporary files that a killed daemon left are removed.
    const left = [join(uploads, `${form}9.zip`), join(state, ".devices.json.77-0badcafe.tmp")];
    const before = { ...below(state), ...below(elsewhere) };
    for (const path of left) writeFileSync(path, "left");
    // Setting a damaged file aside removes the oldest ones.
    for (let at = 4; at < 9; at++) writeFileSync(aside("devices.json", at), "old");
    writeFileSync(join(state, "devices.json"), "broken");
    await started();
    const after = { ...below(state), ...below(elsewhere) };
    for (const [path, held] of Object.entries(before)) expect([path, after[path]]).toEqual([path, held]);
    for (const path of left) expect([path, after[path]]).toEqual([path, undefined]);
    const asides = readdirSync(state).filter((name) => /^devices\.json\.corrupt-20.*Z$/.test(name));
    expect(asides.filter((name) => lstatSync(join(state, name)).isFile())).toHaveLength(3);
  });

  test("an upload that is being received has a name of zapd's own, and is gone after a kill and a start", async () => {
    await write(0o600, password);
    const set = await WiredRoku.start();
    try {
      const own = await started();
      await own.api("POST", "/devices", { ...set.address, name: "den" });
      const head = requestOf("POST", "/v1/devices/den/dev/install", [
        `Host: 127.0.0.1:${own.port}`,
        "Content-Type: multipart/form-data; boundary=B",
        "Content-Length: 900000",
      ]);
      const socket = net.connect(own.port, "127.0.0.1", () => {
        socket.write(head);
        socket.write('--B\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n\r\n');
        socket.write(Buffer.alloc(200_000, "x"));
      });
      socket.on("error", () => {});
      const uploads = join(state, "uploads");
      const names = () => (lstatSync(uploads, { throwIfNoEntry: false }) ? readdirSync(uploads) : []);
      await until("the upload is on disk", () => names().length > 0);
      expect(names()).toEqual([expect.stringMatching(/^zapd-upload-[0-9a-f-]{36}\.zip$/)]);
      expect(statSync(join(uploads, names()[0] ?? "")).mode & 0o777).toBe(0o600);
      await own.stop("SIGKILL");
      socket.destroy();
      expect(names()).toHaveLength(1);
      await started();
      expect(names()).toEqual([]);
    } finally {
      await set.stop();
    }
  });

  test("in a folder at the place of a backup stays, and no write leaves a file beside it", async () => {
    const file = join(state, "devices.json");
    mkdirSync(join(`${file}.bak`, "inner"), { recursive: true });
    for (const text of ["one", "two", "three"]) await writeAtomically(file, text, { backup: true });
    expect(readdirSync(state).sort()).toEqual(["devices.json", "devices.json.bak"]);
    expect([readFileSync(file, "utf8"), readdirSync(`${file}.bak`)]).toEqual(["three", ["inner"]]);
  });

  const inTheWay: Readonly<Record<string, (path: string) => void>> = {
    "a file": (path) => writeFileSync(path, "precious"),
    "a link": (path) => {
      writeFileSync(join(home, "precious"), "precious");
      symlinkSync(join(home, "precious"), path);
    },
    "a folder": (path) => {
      mkdirSync(path);
      writeFileSync(join(path, "x"), "x");
    },
  };
  for (const [what, put] of sampleOf(Object.entries(inTheWay), 2))
    for (const name of ["zapd.sock", "zapd.sock.starting"])
      test(`${what} called ${name} is told to be in the way, and stays`, async () => {
        await write();
        put(join(state, name));
        const past = new Date(Date.now() - 60_000);
        if (what !== "a link") utimesSync(join(state, name), past, past);
        const before = below(home);
        await expect(startTestDaemon({ folder })).rejects.toThrow(/in the way/);
        expect(below(home)).toEqual(before);
      });

  test("a file that has taken the place of the socket is there when the daemon has ended", async () => {
    await write();
    const own = await started();
    rmSync(join(state, "zapd.sock"));
    writeFileSync(join(state, "zapd.sock"), "precious");
    expect(await own.stop()).toBe(0);
    expect(readFileSync(join(state, "zapd.sock"), "utf8")).toBe("precious");
  });

  test.skipIf(!asRoot)("another user's socket is not taken over", async () => {
    await write();
    const theirs = net.createServer();
    const path = join(state, "zapd.sock");
    await new Promise<void>((resolve) => theirs.listen(path, resolve));
    // A socket that was left behind, as by a kill: nobody answers there.
    const kept = join(state, "kept.sock");
    spawnSync("ln", [path, kept]);
    await new Promise<void>((resolve) => theirs.close(() => resolve()));
    spawnSync("mv", [kept, path]);
    chownSync(path, stranger, stranger);
    await expect(startTestDaemon({ folder })).rejects.toThrow(/belongs to another user/);
    expect(lstatSync(path).uid).toBe(stranger);
  });
});
