/** What goes into the program, as a CycloneDX 1.6 document, from the lockfile: its packages and its runtime, and nothing of the moment. */

/** What a lockfile of version 3 says of a package. */
interface Locked {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
}

export interface Lockfile {
  readonly packages: Readonly<Record<string, Locked>>;
}

/** The document, indented and with its last line ended. `runtime` is the version of Bun that is built in. */
export function sbomOf(name: string, version: string, lock: Lockfile, runtime: string): string {
  const packages = Object.entries(lock.packages)
    .filter(([path, one]) => path.startsWith("node_modules/") && !one.dev && !one.optional)
    .map(([path, one]) => componentOf(path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length), one));
  const bun = lock.packages["node_modules/bun"];
  const components = [...packages, ...(bun ? [componentOf("bun", { ...bun, version: runtime })] : [])];
  const document = {
    bomFormat: "CycloneDX", specVersion: "1.6", version: 1,
    metadata: { component: { type: "application", name, version, "bom-ref": `${name}@${version}` } },
    components: components.toSorted((one, other) => (one.purl < other.purl ? -1 : 1)),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function componentOf(name: string, { version, license, integrity = "" }: Locked) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const hash = Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
  return {
    type: "library", name, version, purl, "bom-ref": purl,
    licenses: [/ (OR|AND) /.test(license ?? "") ? { expression: license } : { license: { id: license } }],
    hashes: [{ alg: "SHA-512", content: hash }],
  };
}
