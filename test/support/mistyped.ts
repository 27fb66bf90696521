/** A code of an Android TV with its first byte turned round, which proves the others: of any other code, one in 256 would do (players.md 4.1). */
export function mistyped(code: string | null | undefined): string {
  if (code == null) throw new Error("no code is shown");
  return (0xff - Number.parseInt(code.slice(0, 2), 16)).toString(16).padStart(2, "0") + code.slice(2);
}
