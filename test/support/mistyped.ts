/** A code of an Android TV with a wrong first byte, which is a checksum: one in 256 random codes would be valid (players.md 4.1). */
export function mistyped(code: string | null | undefined): string {
  if (code == null) throw new Error("no code is shown");
  return (0xff - Number.parseInt(code.slice(0, 2), 16)).toString(16).padStart(2, "0") + code.slice(2);
}
