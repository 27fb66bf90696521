/**
 * Adds `Promise.withResolvers` where Node 20 embeds zapd (src/server/README.md); Bun, Deno and newer Nodes have it. It behaves
 * as the standard says, because other code of that program may use it.
 */
if (!("withResolvers" in Promise))
  Object.defineProperty(Promise, "withResolvers", {
    value<T>(this: PromiseConstructor): PromiseWithResolvers<T> {
      const made = {} as PromiseWithResolvers<T>;
      made.promise = new this<T>((resolve, reject) => Object.assign(made, { resolve, reject }));
      return made;
    },
    writable: true,
    configurable: true,
  });

export {};
