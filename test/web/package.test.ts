/** What the page makes of a chosen folder. */
import { expect, test } from "bun:test";
import { maxPackageFiles } from "../../src/api/limits.ts";
import { packageFromFiles } from "../../src/web/views/developer-package.ts";

test("a folder of more files than a package may have is refused before any of them is read", async () => {
  const fileIn = (at: number) =>
    Object.defineProperty(new File([], String(at)), "webkitRelativePath", { value: `app/${at}` });
  let read = 0;
  const chosen = packageFromFiles(Array.from({ length: maxPackageFiles + 1 }, (_, at) => fileIn(at)));
  const zipped = chosen?.read(() => read++);
  await expect(zipped).rejects.toThrow(`It contains more than ${maxPackageFiles} files`);
  expect(read).toBe(0);
});
