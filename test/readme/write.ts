/** Writes the parts of pages that are made from the code: `npm run pages`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/sources.ts";
import { pageText, sections, withSection } from "./sections.ts";

for (const { page, name, text } of sections) writeFileSync(join(root, page), withSection(pageText(page), name, text()));
