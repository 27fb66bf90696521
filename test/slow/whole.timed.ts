/** What `npm test` runs a part of, whole, where it measures time. */
import { test } from "bun:test";
import { measured, runWhole } from "./whole.ts";

test.each(measured)("whole: %s", (file) => runWhole(file));
