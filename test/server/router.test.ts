import { expect, test } from "bun:test";
import { RememberingRouter } from "../../src/server/router.ts";

function routerOf(...paths: string[]) {
  const router = new RememberingRouter<string>();
  router.add("ALL", "*", "guard");
  for (const path of paths) router.add("GET", path, path);
  return router;
}
const found = (router: RememberingRouter<string>, path: string, method = "GET") =>
  router.match(method, path)[0].map(([handler, params]) => [handler, { ...params }]);

test("a path is found again as it was found, each with its own words", () => {
  const router = routerOf("/devices", "/devices/:id");
  for (let time = 0; time < 2; time++) {
    expect(found(router, "/devices")).toEqual([
      ["guard", {}],
      ["/devices", {}],
    ]);
    expect(found(router, "/devices/a")).toEqual([
      ["guard", {}],
      ["/devices/:id", { id: "a" }],
    ]);
    expect(found(router, "/devices/b")).toEqual([
      ["guard", {}],
      ["/devices/:id", { id: "b" }],
    ]);
    expect(found(router, "/devices/a", "POST")).toEqual([["guard", {}]]);
    expect(found(router, "/nowhere")).toEqual([["guard", {}]]);
  }
});

test("a route that comes later is found, though its path was asked for before", () => {
  const router = routerOf("/devices");
  expect(found(router, "/health").length).toBe(1);
  router.add("GET", "/health", "health");
  expect(found(router, "/health").length).toBe(2);
});

test("what is remembered is bounded, in number and in length", () => {
  const router = routerOf("/devices/:id");
  const first = router.match("GET", "/devices/0");
  expect(router.match("GET", "/devices/0")).toBe(first);
  for (let id = 1; id <= 512; id++) router.match("GET", `/devices/${id}`);
  expect(router.match("GET", "/devices/0")).not.toBe(first);
  const long = `/devices/${"a".repeat(300)}`;
  expect(router.match("GET", long)).not.toBe(router.match("GET", long));
});
