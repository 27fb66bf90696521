/** `npm run openapi`: writes the document to `test/openapi/openapi.json`. */
import { openApiText } from "../../src/api/openapi.ts";
import { version } from "../../src/system/version.ts";
import { frozenFile } from "./document.ts";

await Bun.write(frozenFile, openApiText(version));
