/** Where something is written in a TOML text, however it is written. */
import { expect, test } from "bun:test";
import { lineFinder, type Path } from "../../src/config/toml.ts";

const text = `\ufeff# a comment = [
about = "x" # steps
launch.app = "y"

[[steps]]
key = """
long
"""
keys = [
  "a", # [ a comment
  { key = "]", "repeat" = 2 },
]
[[steps]]
if = "power:on"
then = [{ key = 'x' },
  { parallel = [ [ {wait_ms=1},
     {wait_ms=2} ] ] }]
[[steps]]
[steps.launch]
app = "n"
[steps.launch.params]
a = 1979-05-27 07:32:00
[[steps.then]]
key="q"
[[steps.then]]
"key"="r"
`;

const places: readonly (readonly [Path, number | null])[] = [
  [["about"], 2],
  [["launch", "app"], 3],
  [["launch"], 3],
  [["steps", 0], 5],
  [["steps", 0, "key"], 6],
  [["steps", 0, "keys"], 9],
  [["steps", 0, "keys", 0], 10],
  [["steps", 0, "keys", 1, "repeat"], 11],
  [["steps", 1, "then", 0, "key"], 15],
  [["steps", 1, "then", 1, "parallel", 0, 0, "wait_ms"], 16],
  [["steps", 1, "then", 1, "parallel", 0, 1, "wait_ms"], 17],
  [["steps", 2], 18],
  [["steps", 2, "launch"], 19],
  [["steps", 2, "launch", "params", "a"], 22],
  [["steps", 2, "then", 0, "key"], 24],
  [["steps", 2, "then", 1, "key"], 26],
  // What is not there is where it would be.
  [["steps", 2, "volume"], 18],
  [["steps", 0, "keys", 1, "hold_ms"], 11],
  [["nothing"], null],
];

test.each(places)("%p is on line %p", (path, line) => {
  expect(lineFinder(text)(path)).toBe(line);
});
