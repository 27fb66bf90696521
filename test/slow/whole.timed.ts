/** What `npm test` runs a part of, whole, where it measures time. */
import { test } from "bun:test";
import { slowMark } from "../support/whole.ts";
import { isSample } from "./length.ts";
import { measured, runWhole } from "./whole.ts";

test.each(measured)("whole: %s", (file) => runWhole(file, isSample ? { only: slowMark } : {}));
