/** The zod schema of the config, for the wire: made from the table of settings. */
import { z } from "zod";
import { type Config, type Kind, type Setting, sectionNames, settings, type Text } from "./schema.ts";

function textSchema({ least = 0, most, pattern, holds, must }: Text): z.ZodType<string> {
  const bounded = z.string({ error: must }).min(least, { error: must }).max(most, { error: must });
  const patterned = pattern ? bounded.regex(pattern(), { error: must }) : bounded;
  return holds ? patterned.refine(holds, { error: must }) : patterned;
}

function schemaOf(kind: Kind): z.ZodType {
  switch (kind.type) {
    case "boolean":
      return z.boolean();
    case "integer":
      return z.int().min(kind.least).max(kind.most);
    case "word":
      return z.enum(kind.words as [string, ...string[]]);
    case "text":
      return textSchema(kind);
    case "list":
      return z.array(textSchema(kind.of)).max(kind.most);
  }
}

/** The schema of one setting, with its default. */
export function settingSchema({ kind, usual }: Setting): z.ZodType {
  return schemaOf(kind).default(usual);
}

const sections = sectionNames.map((section) => {
  const own = [...settings.values()].filter((setting) => setting.section === section);
  return [section, z.object(Object.fromEntries(own.map((setting) => [setting.key, settingSchema(setting)])))];
});

/** Every section with every setting. Its shape is that of `Config`, from whose table it is made. */
export const configSchema = z.object(Object.fromEntries(sections)) as unknown as z.ZodObject<{
  [S in keyof Config]: z.ZodType<Config[S]>;
}>;
