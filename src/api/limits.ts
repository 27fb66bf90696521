/** Limits that several rooms share, in a module of their own, so that they can be used without loading the schemas. */

/** Limits on sequences (SECURITY.md 4): a longer delay would overflow a timer and become none. */
export const sequenceLimits = { keys: 256, delayMs: 60_000, totalMs: 600_000, defaultDelayMs: 200 } as const;
/** Limits on one press: how long a key is held, how many characters a text has. */
export const pressLimits = { holdMs: 10_000, characters: 1_024 } as const;

export const maxLabels = 32;

/** The longest scene in TOML: bytes of a file, characters of a text. */
export const sceneLength = 64 * 1024;

export const packageBytes = 100 * 1024 * 1024;
export const maxPackageFiles = 10_000;
/** Files that tools leave, and no package needs. */
export const ignoredFiles = /^(\..*|node_modules|.*\.zip|__MACOSX|Thumbs\.db)$/i;
/** Formats that are compressed already: deflating them costs time and saves nothing. */
export const compressedFormats = /\.(png|jpe?g|gif|webp|mp3|m4a|aac|mp4|m4v|webm|woff2?|gz)$/i;

/** Limits on leases: seconds of its duration and of waiting, characters of the owner and the note. */
export const leaseLimits = { ttlS: 3_600, waitS: 60, owner: 128, note: 512 } as const;
