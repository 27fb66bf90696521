/** Preloaded into a daemon: writes to stderr which modules of the page are loaded. */

import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { plugin } from "bun";

plugin({
  name: "told-assets",
  setup(build) {
    build.onLoad({ filter: /src\/web\/.*\.ts$/ }, ({ path }) => {
      process.stderr.write(`read: ${basename(path)}\n`);
      return { contents: readFileSync(path, "utf8"), loader: "ts" };
    });
  },
});
