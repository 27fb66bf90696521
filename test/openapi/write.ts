/** `npm run openapi`: writes the document to `src/openapi.json`. */
import { openApiText } from "../../src/openapi.ts";
import { version } from "../../src/version.ts";
import { frozenFile } from "./document.ts";

await Bun.write(frozenFile, openApiText(version));
