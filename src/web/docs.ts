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
/** A stream does not end by itself: what comes of it in this time is shown. */
const streamShownMs = 2_000;

async function fetchBounded(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, init);
  if (!answer.body || !/event-stream|ndjson/.test(answer.headers.get("content-type") ?? "")) return answer;
  const reader = answer.body.getReader();
  setTimeout(() => void reader.cancel(), streamShownMs);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Response(new Blob(parts), answer);
    parts.push(value);
  }
}

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  requestInterceptor: (request: object) => ({ ...request, userFetch: fetchBounded }),
  // The default validator would send the document to another site.
  validatorUrl: null,
});

export {};
