/** Changes that callers make, the facts that follow, and the steps of a story of them. */
import { expect } from "bun:test";
import fc from "fast-check";
import { type Facts, firstPort, type House, noFacts, type SetName, setNames } from "./house.ts";

export interface Change {
  readonly what: string;
  /** The facts that it changes, given the present ones; `null` when it must be refused. */
  makes(facts: Facts): Facts | null;
  /** The HTTP status, and the code of a refusal. */
  send(house: House): Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly code: string | null;
}

/** The expected facts. */
export interface Model {
  facts: Facts;
}
export const newModel = (): Model => ({ facts: noFacts() });

const names = ["Den", "Attic", "Loft"] as const;
const ask = async (house: House, method: string, path: string, body?: unknown): Promise<Answer> => {
  const { status, body: said } = await house.api(method, path, body);
  return { status, code: status === 200 ? null : said.error.code };
};
/** A new name; the default device stays the default one under it. */
const named = (facts: Facts, set: SetName, name: string): [string, string][] => {
  const before = facts.get(`name ${set}`);
  const isDefault = before !== "" && before === facts.get("default");
  return [[`name ${set}`, name], ...(isDefault ? [["default", name] as [string, string]] : [])];
};
const isKnown = (facts: Facts, set: SetName) => facts.get(`name ${set}`) !== "";
const isTaken = (facts: Facts, set: SetName, name: string) =>
  setNames.some((other) => other !== set && facts.get(`name ${other}`) === name);

const patches = fc.tuple(fc.integer({ min: 100, max: 999 }), fc.constantFrom("", "http://a.test", "http://b.test"));
/** Frequent, as most other changes need a known device. */
const addition: fc.Arbitrary<Change> = fc
  .tuple(fc.constantFrom(...setNames), fc.constantFrom(...names))
  .map(([set, name]) => ({
    what: `add ${set} as ${name}`,
    makes: (facts: Facts) =>
      isTaken(facts, set, name)
        ? null
        : new Map([
            ...named(facts, set, name),
            [`ports ${set}`, set === "one" || set === "two" ? String(firstPort) : ""],
          ]),
    send: async (house: House) => {
      const { status, body } = await house.add(set, name);
      return { status, code: status === 200 ? null : body.error.code };
    },
  }));

const change: fc.Arbitrary<Change> = fc.oneof(
  { arbitrary: addition, weight: 4 },
  patches.map(([seconds, origins]) => ({
    what: `patch ${seconds} ${origins}`,
    // A patch is applied whole or not at all.
    makes: () => new Map([["config", `${seconds}|${origins}`]]),
    send: (house: House) =>
      ask(house, "PATCH", "/config", { "discovery.interval_s": seconds, "daemon.cors_allowed_origins": origins }),
  })),
  fc.integer({ min: 100, max: 999 }).map((seconds) => ({
    what: `bad patch ${seconds}`,
    makes: () => null,
    send: (house: House) =>
      ask(house, "PATCH", "/config", { "discovery.interval_s": seconds, "daemon.log_level": "loud" }),
  })),
  fc.constantFrom("", ...names).map((name) => ({
    what: `default ${name}`,
    makes: () => new Map([["default", name]]),
    send: (house: House) => ask(house, "PATCH", "/config", { "daemon.default_device": name }),
  })),
  fc.tuple(fc.constantFrom(...setNames), fc.constantFrom(...names)).map(([set, name]) => ({
    what: `rename ${set} to ${name}`,
    makes: (facts: Facts) =>
      isKnown(facts, set) && !isTaken(facts, set, name) ? new Map(named(facts, set, name)) : null,
    send: (house: House) => ask(house, "PATCH", house.path(set), { name }),
  })),
  fc
    .tuple(fc.constantFrom("one" as const, "two" as const), fc.integer({ min: 9_000, max: 9_999 }))
    .map(([set, port]) => ({
      what: `port ${port} of ${set}`,
      makes: (facts: Facts) => (isKnown(facts, set) ? new Map([[`ports ${set}`, String(port)]]) : null),
      send: (house: House) => ask(house, "PATCH", house.path(set), { ports: { installer: port } }),
    })),
  fc.constantFrom(...setNames).map((set) => ({
    what: `forget ${set}`,
    makes: (facts: Facts) =>
      isKnown(facts, set)
        ? new Map([
            [`name ${set}`, ""],
            [`ports ${set}`, ""],
            // Its credentials are removed with it.
            [`paired ${set}`, "no"],
          ])
        : null,
    send: (house: House) => ask(house, "DELETE", house.path(set)),
  })),
  fc.constant({
    what: "pair willing",
    makes: (facts: Facts) => (isKnown(facts, "willing") ? new Map([["paired willing", "yes"]]) : null),
    send: (house: House) => ask(house, "POST", `${house.path("willing")}/pair`),
  }),
  fc.constant({
    what: "pair unwilling",
    makes: () => null,
    send: (house: House) => ask(house, "POST", `${house.path("unwilling")}/pair`),
  }),
);

/** Codes that no change may fail with (`pairing_failed` is a set's denial, or a pairing under way). */
const noRefusals = ["internal_error", "storage_error", "device_error", "device_timeout", "device_unreachable"];

type Step = fc.AsyncCommand<Model, House>;

/** One change, answered as the model says. */
const alone = change.map(
  (one): Step => ({
    check: () => true,
    async run(model, house) {
      const makes = one.makes(model.facts);
      const { status, code } = await one.send(house);
      expect([one.what, status === 200, noRefusals.includes(code ?? "")]).toEqual([one.what, makes !== null, false]);
      if (makes) {
        house.taken++;
        model.facts = new Map([...model.facts, ...makes]);
      }
    },
    toString: () => one.what,
  }),
);

/** Several changes at once, with a kill after so many milliseconds if a time is given. Every answered change must be there. */
const together = (killed: fc.Arbitrary<number | null>) =>
  fc.tuple(fc.array(change, { minLength: 2, maxLength: 5 }), killed).map(
    ([all, ms]): Step => ({
      check: () => true,
      async run(model, house) {
        const answering = all.map((one) => one.send(house).catch(() => null));
        if (ms !== null) {
          await Bun.sleep(ms);
          house.kill();
        }
        const answers = await Promise.all(answering);
        if (ms !== null) await house.restart();
        expect(answers.flatMap((one) => (one?.code && noRefusals.includes(one.code) ? [one.code] : []))).toEqual([]);
        if (ms === null) expect(answers).not.toContain(null);
        // Their order is unknown; a change without an answer may have been made.
        const may = new Map<string, Set<string>>();
        const surely = new Set<string>();
        for (const [at, one] of all.entries()) {
          const answer = answers[at];
          if (answer && answer.status !== 200) continue;
          if (answer) house.taken++;
          for (const [fact, value] of one.makes(everyone) ?? []) {
            const values = may.get(fact) ?? new Set();
            may.set(fact, values.add(value));
            if (answer) surely.add(fact);
            // Whether a renamed device is the default depends on the order.
            if (fact.startsWith("name ") && value !== "")
              may.set("default", (may.get("default") ?? new Set()).add(value));
          }
        }
        const found = await house.facts();
        for (const [fact, value] of found) {
          const allowed = [...(may.get(fact) ?? []), ...(surely.has(fact) ? [] : [model.facts.get(fact)])];
          expect([fact, allowed]).toEqual([fact, expect.arrayContaining([value])]);
        }
        model.facts = found;
      },
      toString: () => `${all.map(({ what }) => what).join(" + ")}${ms === null ? "" : `, killed after ${ms} ms`}`,
    }),
  );

/** Facts with all devices known and no name taken: what a change may do in any order. */
const everyone: Facts = new Map(setNames.map((set) => [`name ${set}`, `Name of ${set}`]));

const look: Step = {
  check: () => true,
  run: async (model, house) => expect(await house.facts()).toEqual(model.facts),
  toString: () => "look",
};

const restart: Step = {
  check: () => true,
  async run(model, house) {
    await house.restart();
    expect(await house.facts()).toEqual(model.facts);
  },
  toString: () => "kill -9",
};

/** Stories of so many steps at most. */
export const stories = (maxCommands: number) =>
  fc.commands(
    [
      alone,
      alone,
      alone,
      alone,
      fc.constant(look),
      fc.constant(restart),
      together(fc.constant(null)),
      together(fc.integer({ min: 0, max: 40 })),
    ],
    { maxCommands, size: "max" },
  );
