import pkg from "../../package.json" with { type: "json" };

/** zapd's own version. */
export const { version } = pkg;
