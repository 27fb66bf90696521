/** Writes the parts of pages that are made from the code: `npm run pages`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultText } from "../../src/config/schema.ts";
import { root } from "../support/sources.ts";
import { filesOfAPress, purposeOf } from "./press.ts";
import { pageText, sections, withSection } from "./sections.ts";

const tour = (await filesOfAPress()).map((path, at) => `${at + 1}. \`${path}\`: ${purposeOf(path)}`).join("\n");
for (const { page, name, text } of [...sections, { page: "src/README.md", name: "tour", text: () => tour }])
  writeFileSync(join(root, page), withSection(pageText(page), name, text()));
writeFileSync(join(root, "config.toml"), defaultText());
