/** What may be printed, whatever it was that others sent. */

/** What a terminal would obey or not show: controls, direction marks, invisible and half characters. Emoji keep their variants. */
export const unprintable =
  /[[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\ufe00-\ufe0f]]/gv;

/** The text without control characters, direction marks and invisible characters, on one line. */
export function printable(text: string): string {
  // Most texts are plain, and a key press should not pay for a table of Unicode.
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return text.replace(/[\r\n\t\u2028\u2029]+/g, " ").replace(unprintable, "");
}
