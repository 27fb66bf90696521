/**
 * The developer page of a set: a digest challenge answered without reading the body, then a form. What it says stands
 * in the page, never in the status.
 */
import { createHash } from "node:crypto";
import { app } from "./fake-documents.ts";
import type { FakeRoku } from "./fake-roku.ts";
import { type Answer, type RawRequest, type Reply, Wire } from "./fake-wire.ts";

const md5 = (text: string | Buffer): string => createHash("md5").update(text).digest("hex");

export interface Upload {
  readonly submit: string;
  readonly archive: Buffer;
  readonly fields: ReadonlyMap<string, string>;
}

export class FakeInstaller {
  readonly wire: Wire;
  password = "secret-of-the-set";
  /** With `qop="auth"` as real sets, or the older form without. */
  qop = true;
  /** Emulators have a realm of their own. */
  realm = "rokudev";
  /** What stands in `WWW-Authenticate` instead of a challenge of its own. */
  asks: string | null = null;
  readonly uploads: Upload[] = [];
  /** What the set makes of a package instead of taking it. */
  outcome:
    | "install"
    | "577"
    | "update-page"
    | "gibberish"
    | "corrupt"
    | "no-manifest"
    | "compile-error"
    | "reset"
    | "hang" = "install";
  /** How the page tells: in the JSON of current firmware, the script of older, or hidden markup. */
  page: "json" | "shell" | "font" | "text" = "json";
  challenges = 0;
  readonly #set: FakeRoku;
  #nonce = String(1_700_000_000 + Math.floor(Math.random() * 1e6));
  #installed = "";

  constructor(set: FakeRoku) {
    this.#set = set;
    this.wire = new Wire(
      (request) => this.#answer(request),
      (head) => this.#challenge(head),
    );
    this.wire.style = { close: "said" };
  }

  #challenge(head: RawRequest): Reply | null {
    if (this.#authorized(head)) return null;
    this.challenges++;
    this.#nonce = String(Number(this.#nonce) + 7);
    const qop = this.qop ? 'qop="auth", ' : "";
    const challenge = this.asks ?? `Digest ${qop}realm="${this.realm}", nonce="${this.#nonce}"`;
    return { status: 401, headers: { "WWW-Authenticate": challenge } };
  }

  #authorized(head: RawRequest): boolean {
    const sent = head.headers.get("authorization");
    if (!sent?.startsWith("Digest ")) return false;
    const part = (name: string): string => new RegExp(`[ ,]${name}="?([^",]*)"?`).exec(sent)?.[1] ?? "";
    if (part("username") !== "rokudev" || part("nonce") !== this.#nonce || part("uri") !== head.target) return false;
    const ha1 = md5(`rokudev:${this.realm}:${this.password}`);
    const ha2 = md5(`${head.method}:${head.target}`);
    const middle = this.qop ? `${part("nonce")}:${part("nc")}:${part("cnonce")}:${part("qop")}` : part("nonce");
    return part("response") === md5(`${ha1}:${middle}:${ha2}`);
  }

  #answer(request: RawRequest): Answer {
    if (request.path !== "/plugin_install") return { status: 404 };
    if (request.method !== "POST") return page("<html><body>Development Application Installer</body></html>");
    const upload = readForm(request);
    if (!upload) return this.#says(["error", 'Failure: Form Error: "archive" Field Not Found']);
    this.uploads.push(upload);
    if (upload.submit === "Delete") return this.#says(["success", "Delete Succeeded."]);
    return this.#install(upload);
  }

  #install(upload: Upload): Answer {
    const received = ["info", `Application Received: ${upload.archive.length} bytes stored.`] as const;
    if (this.outcome === "577") return { status: 577 };
    if (this.outcome === "reset" || this.outcome === "hang") return this.outcome;
    if (this.outcome === "update-page") return page("<html><h1>Failed to check for software update</h1></html>");
    if (this.outcome === "gibberish") return page("<html><body>Thank you!</body></html>");
    if (this.outcome === "corrupt" || upload.archive.length < 512) {
      return this.#says(received, [
        "error",
        "Install Failure: Unzip failed. Invalid or corrupt zip archive.  Unloading.",
      ]);
    }
    if (this.outcome === "no-manifest") return this.#says(["error", "No manifest. Invalid package."]);
    if (this.outcome === "compile-error") {
      this.#set.console.print(
        "------ Compiling dev 'Fjord' ------",
        "Syntax Error. (compile error &h02) in pkg:/source/main.brs(3)",
        "-------> Compilation Failed.",
      );
      return this.#says(received, ["error", "Install Failure: Compilation Failed."]);
    }
    const sum = md5(upload.archive);
    if (sum === this.#installed) return this.#says(["info", "Identical to previous version -- not replacing."]);
    this.#installed = sum;
    this.#set.apps = [...this.#set.apps.filter((one) => one.id !== "dev"), app("dev", "Fjord", "appl", "2.1.9")];
    const dev = this.#set.apps.at(-1) ?? null;
    if (upload.fields.get("dev_autolaunch") !== "0") this.#set.active = dev;
    this.#set.console.print(
      "------ Compiling dev 'Fjord' ------",
      "------ Running dev 'Fjord' main ------",
      "Grüße 📺 vom Fjord",
    );
    return this.#says(received, ["success", "Install Success."]);
  }

  #says(...messages: (readonly [string, string])[]): Reply {
    const last = messages.at(-1) ?? ["", ""];
    if (this.page === "text") {
      const lines = messages.map(([, text]) => `<div class="message">${text}</div>`);
      return page(
        `<html><style>.x { }</style><script>var text = "Install Failure";</script>${lines.join("\n")}</html>`,
      );
    }
    if (this.page === "font")
      return page(`<html><div style="display:none"><font color="red">${last[1]}</font></div></html>`);
    if (this.page === "shell") {
      const calls = messages.map(
        ([type, text]) =>
          `Shell.create('Roku.Message').trigger('Set message type', '${type}').trigger('Set message content', '${text}').trigger('Render', node);`,
      );
      return page(`<html><script>var x = JSON.parse('[3]');\n${calls.join("\n")}</script></html>`);
    }
    const json = {
      messages: messages.map(([type, text]) => ({ text, text_type: "text", type })),
      metadata: { dev_id: "1f", dev_key: true, voice_sdk: false },
      packages: [],
    };
    // A string inside a script: quotes and backslashes of the JSON stand escaped.
    const inside = JSON.stringify(json).replaceAll("\\", "\\\\").replaceAll("'", "\\'");
    return page(`<html><script>\nvar n = JSON.parse('7');\nvar params = JSON.parse('${inside}');\n</script></html>`);
  }
}

const page = (body: string): Reply => ({ status: 200, headers: { "Content-Type": "text/html; charset=utf-8" }, body });

/** The form, read by its boundary; nothing is assumed about the order of its parts. */
function readForm(request: RawRequest): Upload | null {
  const boundary = /boundary="?([^";]+)"?/.exec(request.headers.get("content-type") ?? "")?.[1];
  if (!boundary) return null;
  const fields = new Map<string, string>();
  let archive: Buffer | null = null;
  const mark = Buffer.from(`--${boundary}`);
  for (let at = request.body.indexOf(mark); at >= 0; ) {
    const next = request.body.indexOf(mark, at + mark.length);
    if (next < 0) break;
    const part = request.body.subarray(at + mark.length + 2, next - 2);
    const end = part.indexOf("\r\n\r\n");
    const head = part.subarray(0, end).toString();
    const name = /name="([^"]*)"/.exec(head)?.[1] ?? "";
    if (name === "archive") archive = part.subarray(end + 4);
    else fields.set(name, part.subarray(end + 4).toString());
    at = next;
  }
  return archive && { submit: fields.get("mysubmit") ?? "", archive, fields };
}
