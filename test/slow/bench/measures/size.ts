/** 11: the size of the program, as it lies there and as it is downloaded. */
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { spreadOf } from "../figures.ts";
import type { Row } from "../report.ts";
import type { Stage } from "../stage.ts";
import type { Measure } from "./measure.ts";

async function run({ programs }: Stage): Promise<Row[]> {
  const [zapd, hello] = [readFileSync(programs.zapd), readFileSync(programs.hello)];
  const packed = await Promise.all([zapd, hello].map((bytes) => promisify(gzip)(bytes, { level: 9 })));
  const [packedZapd = 0, packedHello = 0] = packed.map((bytes) => bytes.length);
  return [row("as it is", zapd.length, hello.length), row("gzip -9", packedZapd, packedHello)];
}

/** Once: nothing disturbs a size, and it grows with nothing that zapd is used for. */
function row(how: string, ours: number, limit: number): Row {
  const mb = (bytes: number) => `${(bytes / 1_000_000).toFixed(2)} MB`;
  return {
    measure: 11,
    what: `size of the program, ${how}`,
    limit: 1,
    how: `${mb(ours)} ÷ hello-world ${mb(limit)}`,
    figure: spreadOf([ours / limit]),
    must: { at: "most", value: 1.1 },
    growth: [],
    peers: [],
  };
}

export const size: Measure = { number: 11, title: "size", run };
