/** Lists in place: entries come and go, and the lines and comments of those that stay, stay. */
import { describe, expect, test } from "bun:test";
import { setValue } from "../../src/config/edit.ts";

describe("lists", () => {
  test("a list keeps its lines, and the comments of the entries that stay", () => {
    const before =
      '[daemon]\ncors_allowed_origins = [ # mine\n  # the board\n  "http://a.test", # one\n\n  # the wall\n  "http://b.test", # two\n] # end\n';
    const edit = (...value: string[]) => setValue(before, "daemon", "cors_allowed_origins", value);
    expect(edit("http://a.test", "http://b.test")).toBe(before);
    expect(edit("http://a.test", "http://c.test")).toBe(before.replace("b.test", "c.test"));
    for (const comment of ["# mine", "# the board", "# one", "# the wall", "# two", "# end"]) {
      expect(edit("http://a.test", "http://b.test", "http://c.test")).toContain(comment);
    }
    for (const comment of ["# mine", "# the board", "# one", "# end"]) expect(edit("http://a.test")).toContain(comment);
    for (const comment of ["# the wall", "# two"]) expect(edit("http://b.test")).toContain(comment);
  });

  test.each([
    ["one goes from a line", "['x', 'y'] # c", ["x"], "['x'] # c"],
    ["the first goes from a line", "['x', 'y']", ["y"], "[ 'y']"],
    ["all go", "['x', 'y']", [], "[]"],
    ["one comes behind a comma", "['x', 'y',]", ["x", "y", "z"], `['x', 'y', "z",]`],
    ["one takes the place of another", "[ 'x' , 'y' ]", ["z", "y"], `[ "z" , 'y' ]`],
    ["one comes on a line of its own", "[\n  'x',\n  'y' # y\n]", ["x", "y", "z"], `[\n  'x',\n  'y', # y\n  "z"\n]`],
    ["none there but a comment", "[ # none\n]", ["x"], `["x" # none\n]`],
    ["a comma on a line of its own", "['x' # x\n, 'y']", ["x"], "['x' # x\n]"],
    ["lists and tables in it", "[['a', ']'], { b = '}' }, 'y']", ["y"], "[ 'y']"],
    ["no list before", "5 # c", ["x"], '["x"] # c'],
  ])("a list: %s", (_what, before, value, wanted) => {
    const text = (list: string) => `[daemon]\ncors_allowed_origins = ${list}\n[dev]\n`;
    expect(setValue(text(before), "daemon", "cors_allowed_origins", value)).toBe(text(wanted));
  });
});
