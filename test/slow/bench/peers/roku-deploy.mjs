// A script with roku-deploy, as its README has it.
//   press HOST PORT                                    one key and the end, for whole processes
//   publish HOST PORT INSTALLER PASSWORD FOLDER FILE   sideloads a package: milliseconds of the call
import { createRequire } from "node:module";

const { rokuDeploy } = createRequire(import.meta.url)("roku-deploy");
const [what, host, remotePort, ...words] = process.argv.slice(2);

if (what === "press") await rokuDeploy.pressHomeButton(host, Number(remotePort));
else {
  const [packagePort, password, outDir, outFile] = words;
  const began = performance.now();
  await rokuDeploy.publish({
    host,
    remotePort: Number(remotePort),
    packagePort: Number(packagePort),
    password,
    outDir,
    outFile,
  });
  process.stdout.write(JSON.stringify({ ms: performance.now() - began }));
}
