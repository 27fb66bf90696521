/**
 * What Node 20 has not, where a program of its holds zapd (src/server/README.md): Bun, Deno and newer Nodes have their own,
 * which stays. As the standard has it, since what else runs in that program may find it too.
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
