/** Starts Swagger UI on the document of this very daemon. It asks nobody else, and keeps nothing. */
declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => unknown;

/** What makes a text markup, where a browser asks who does (Trusted Types). */
declare const trustedTypes:
  | { createPolicy(name: string, rules: { createHTML(html: string): string }): unknown }
  | undefined;

// It hands its markup on as text. That may be shown: no script in it runs, nor may any text become one.
if (typeof trustedTypes !== "undefined") trustedTypes.createPolicy("default", { createHTML: (html) => html });
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // Its own would send the document to a site of somebody else.
  validatorUrl: null,
});

export {};
