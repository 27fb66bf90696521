/** The way of a key press, as `src/README.md` tells it, is the way that one goes. */
import { expect, test } from "bun:test";
import { filesOfAPress } from "./press.ts";
import { pageText } from "./sections.ts";

test("a warm key press passes the files that the tour names, in its order (else: npm run pages)", async () => {
  const tour = /<!-- tour -->(.*)<!-- \/tour -->/s.exec(pageText("src/README.md"))?.[1] ?? "";
  const named = [...tour.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, path = ""]) => path);
  const files = await filesOfAPress();
  expect(named).toEqual(files);
  expect(files.length).toBeLessThanOrEqual(18);
}, 60_000);
