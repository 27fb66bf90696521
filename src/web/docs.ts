/** Starts Swagger UI on the OpenAPI document of this daemon. It makes no other requests and stores nothing. */
declare const SwaggerUIBundle: (options: Readonly<Record<string, unknown>>) => unknown;

/** Trusted Types, in browsers that have them. */
declare const trustedTypes:
  | { createPolicy(name: string, rules: { createHTML(html: string): string }): unknown }
  | undefined;

// Swagger UI sets markup as strings. The policy allows that for HTML only, never for scripts.
if (typeof trustedTypes !== "undefined") trustedTypes.createPolicy("default", { createHTML: (html) => html });
// It takes the dark scheme from this class, not from the system.
const dark = matchMedia("(prefers-color-scheme: dark)");
const takeScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", takeScheme);
takeScheme();
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // The default validator would send the document to another site.
  validatorUrl: null,
});

export {};
