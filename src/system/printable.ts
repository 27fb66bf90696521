/** Controls, direction marks, invisible characters and lone surrogates, which a terminal obeys or does not show. Variation selectors of emoji are kept. */
export const unprintable =
  /[[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe00-\ufe0f]]/gv;

/** The text on one line, without control characters, direction marks and invisible characters. */
export function printable(text: string): string {
  // Most texts are ASCII, and a key press should not load the Unicode tables.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text.replace(/[\r\n\t\u2028\u2029]+/g, " ").replace(unprintable, "");
}
