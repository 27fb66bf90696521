/** The smallest server of the runtime: what zapd cannot be faster, smaller or leaner than. `hello PORT [BODY-FILE]` */
const [port, file] = process.argv.slice(2);

async function main(): Promise<void> {
  const body = file === undefined ? "hello" : await Bun.file(file).bytes();
  const headers = { "content-type": file === undefined ? "text/plain" : "application/json" };
  Bun.serve({ hostname: "127.0.0.1", port: Number(port), fetch: () => new Response(body, { headers }) });
}

void main();
