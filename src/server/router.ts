/** Which handlers a request goes to. */
import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";

/** Requests whose way is remembered, and characters that one may have. */
const limits = { ways: 512, characters: 256 } as const;

/**
 * The router of Hono's usual preset that is ready at once (the other builds one expression of all routes for the first
 * request), with a memory: a dashboard asks for the same few paths, and looking each up takes a fifth of its answer.
 */
export class RememberingRouter<T> implements Router<T> {
  readonly name = "RememberingRouter";
  readonly #router = new TrieRouter<T>();
  readonly #ways = new Map<string, Result<T>>();

  add(method: string, path: string, handler: T): void {
    this.#ways.clear();
    this.#router.add(method, path, handler);
  }

  match(method: string, path: string): Result<T> {
    const request = `${method} ${path}`;
    const known = this.#ways.get(request);
    if (known) return known;
    const found = this.#router.match(method, path);
    if (request.length <= limits.characters) {
      if (this.#ways.size >= limits.ways) this.#ways.clear();
      this.#ways.set(request, found);
    }
    return found;
  }
}
