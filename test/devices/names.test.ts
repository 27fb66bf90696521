import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ZapdError } from "../../src/api/errors.ts";
import { areAlike, checkName, resolveName, uniqueName } from "../../src/devices/names.ts";
import { outcomeOf } from "../support/failure.ts";

const named = (...names: string[]) =>
  names.map((name, at) => ({ name, id: `00000000-0000-5000-8000-00000000000${at}` }));

const anyName = fc.oneof(
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: "grapheme", maxLength: 200 }),
  fc
    .array(
      fc.constantFrom("/", "%", "\0", "\n", " ", "default", "TV", "é", "e\u0301", "📺", "\ud83d", "\u202e", "\u2028"),
      { maxLength: 8 },
    )
    .map((parts) => parts.join("")),
  fc.uuid(),
);

describe("a name that a user gives", () => {
  test("is trimmed, and kept as it is otherwise", () => {
    for (const name of [
      "Living Room",
      "Büro",
      "子供部屋 TV",
      "TV 2",
      "a",
      "x".repeat(128),
      "📺".repeat(128),
      'Kid\'s "TV" & co.',
      "default 2",
      "...",
      "x8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55",
      "8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55x",
    ])
      expect(checkName(`  ${name}\t`, [])).toBe(name);
    expect(checkName("Cafe\u0301", [])).toBe("Café");
  });

  const refused = {
    "a slash": "a/b",
    "a percent sign": "100%",
    nothing: "   ",
    "a line break inside": "a\nb",
    "a NUL": "a\0b",
    "a C1 control": "a\u0085b",
    "half a character": "a\ud83d",
    "129 characters": "x".repeat(129),
    "the form of an id": "8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55",
    "the form of an id in capitals": "8C0D4F4E-5B0A-4B0F-9D3C-7A1F2E6B9C55",
    "the word for the default device": " Default ",
    "the word for all devices": "ALL",
    "what marks a label": "Label: bar",
    "the folder of a path": ".",
    "the folder above": "..",
  };
  test.each(Object.entries(refused))("is refused for %s", (_why, name) => {
    expect(outcomeOf(() => checkName(name, []))).toBe("invalid_device_name");
  });

  test("is taken when another has it, without regard to case or to how é is made", () => {
    for (const name of ["living room", "LIVING ROOM", " Living Room "])
      expect(outcomeOf(() => checkName(name, named("Living Room")))).toBe("device_name_taken");
    expect(outcomeOf(() => checkName("CAFE\u0301", named("Café")))).toBe("device_name_taken");
    expect(outcomeOf(() => checkName("Café", named("Cafe\u0301")))).toBe("device_name_taken");
    expect(checkName("Living Room 2", named("Living Room"))).toBe("Living Room 2");
  });
});

describe("a name made of what a device calls itself", () => {
  test("keeps what it can", () => {
    expect(uniqueName("TCL•Roku TV", [])).toBe("TCL•Roku TV");
    expect(uniqueName('  43" TV / Kids\n100% ', [])).toBe('43" TV Kids 100');
    expect(uniqueName("\u202eevil\u200b\ud83d", [])).toBe("evil");
  });

  test("gets a number when it is taken", () => {
    expect(uniqueName("TV", named("TV"))).toBe("TV 2");
    expect(uniqueName("tv", named("TV", "TV 2", "Tv 3"))).toBe("tv 4");
    expect(uniqueName("Default", [])).toBe("Default 2");
  });

  test("is never longer than a name may be, however many have it", () => {
    const taken: { id: string; name: string }[] = [];
    for (const wanted of ["x".repeat(300), "📺".repeat(300)]) {
      for (let number = 1; number <= 12; number++) {
        const name = uniqueName(wanted, taken);
        expect(checkName(name, taken)).toBe(name);
        taken.push({ id: String(taken.length), name });
      }
    }
  });

  test("is there even where nothing is left of it", () => {
    expect(uniqueName("///", [])).toBe("Device");
    expect(uniqueName("..", [])).toBe("Device ..");
    expect(uniqueName("label:bar", [])).toBe("Device label:ba");
    expect(uniqueName("", named("Device"))).toBe("Device 2");
    expect(uniqueName("8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55", [])).toBe("Device 8c0d4f4e");
  });

  test("always passes for one that a user gives, however many there are", () => {
    fc.assert(
      fc.property(anyName, fc.array(anyName, { maxLength: 4 }), fc.boolean(), (wanted, others, again) => {
        const taken: { id: string; name: string }[] = [];
        for (const other of [...others, ...(again ? [wanted, wanted] : [])])
          taken.push({ id: String(taken.length), name: uniqueName(other, taken) });
        const name = uniqueName(wanted, taken);
        expect(checkName(name, taken)).toBe(name);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("the device meant by a path", () => {
  const [first, second] = named("Living Room", "Bedroom") as [
    { id: string; name: string },
    { id: string; name: string },
  ];
  const both = [first, second];
  const find = (segment: string, devices = both): unknown => outcomeOf(() => resolveName(segment, devices));

  test("an exact name comes before one without case, and two without case are ambiguous", () => {
    const alike = named("tv", "TV");
    expect(find("TV", alike)).toBe(alike[1]);
    expect(find("tv", alike)).toBe(alike[0]);
    expect(find("Tv", alike)).toBe("ambiguous_device");
    expect(find("TV", named("TV", "TV"))).toBe("ambiguous_device");
    expect(find(" living ROOM ")).toBe(first);
  });

  test("an id comes before a name; an unknown id is no device", () => {
    expect(find("8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55")).toBe("device_not_found");
    const lettered = { id: "8c0d4f4e-5b0a-4b0f-9d3c-7a1f2e6b9c55", name: "Attic" };
    expect(find(lettered.id.toUpperCase(), [lettered])).toBe(lettered);
    const inCapitals = { id: "1", name: first.id.toUpperCase() };
    expect(find(inCapitals.name, [inCapitals, first])).toBe(first);
    // Only an id is looked up among the ids that a device had before.
    expect(outcomeOf(() => resolveName("Bedroom", both, () => first))).toBe(second);
  });

  test("default means the default device, before one of an older version that is called so", () => {
    expect(find("default", named("default"))).toBeNull();
    expect(find("DEFAULT")).toBeNull();
  });

  test("what is not found says what there is, and how to look", () => {
    const hintFor = (segment: string, devices: readonly { id: string; name: string }[]) => {
      try {
        return resolveName(segment, devices);
      } catch (error) {
        return error instanceof ZapdError ? error.hint : error;
      }
    };
    const look = "Look for others with zapd discover";
    expect(hintFor("Kitchen", both)).toBe(`Known: Living Room, Bedroom. ${look}`);
    expect(hintFor("Bedrom", both)).toBe(`Did you mean Bedroom? Known: Living Room, Bedroom. ${look}`);
    expect(hintFor("all", both)).toBe("all is a group, but this works on one device only. Known: Living Room, Bedroom");
    const many = named(..."12345678".split("").map((number) => `Screen ${number}`));
    const eight = many.map(({ name }) => name).join(", ");
    expect(hintFor("Kitchen", many)).toBe(`Known: ${eight}. ${look}`);
    expect(hintFor("Kitchen", [...many, first])).toBe(`Known: ${eight} …. ${look}`);
    expect(hintFor("Kitchen", [])).toStartWith("No device is known yet. Search with zapd discover");
    expect(hintFor("TV", named("tv", "Tv"))).toBe("Use the exact name, or the id");
    expect(hintFor("a/b", both)).toContain("encode it once");
  });
});

test("an input or a channel is meant without regard to case, to spaces, and to how é is made", () => {
  for (const [one, other] of [
    ["HDMI 1", "hdmi1"],
    ["Caméra", "came\u0301ra"],
    ["5.1", "5-1"],
  ] as const)
    expect(areAlike(one, other)).toBe(true);
  expect(areAlike("51", "5-1")).toBe(false);
});
