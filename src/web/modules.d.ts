/** What the checker cannot see: styles, which the build takes in, and the modules that it makes (.ci/web.ts). */
declare module "*.css";

declare module "*assets.ts" {
  /** A file as it is served: gzip in base64, and the tag of its content. */
  export const assets: Readonly<
    Record<string, { readonly type: string; readonly etag: string; readonly gzip: string }>
  >;
}
