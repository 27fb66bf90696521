/**
 * What Node 20 has not, where a program of its holds zapd (src/server/README.md): Bun, Deno and newer Nodes have their own,
 * which stay. As the standard has them, since what else runs in that program may find them too.
 */
if (!("withResolvers" in Promise))
  give(Promise, "withResolvers", function <T>(this: PromiseConstructor): PromiseWithResolvers<T> {
    const made = {} as PromiseWithResolvers<T>;
    made.promise = new this<T>((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  });

if (!("fromAsync" in Array))
  give(Array, "fromAsync", async <T>(items: AsyncIterable<T> | Iterable<T | Promise<T>>): Promise<T[]> => {
    const all: T[] = [];
    for await (const item of items) all.push(item);
    return all;
  });

if (!("isDisjointFrom" in Set.prototype))
  give(Set.prototype, "isDisjointFrom", function (this: Set<unknown>, other: ReadonlySet<unknown>): boolean {
    return ![...this].some((one) => other.has(one));
  });

function give(to: object, name: string, value: unknown): void {
  Object.defineProperty(to, name, { value, writable: true, configurable: true });
}

export {};
