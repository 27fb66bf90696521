import type { Model } from "./model.ts";

export interface Message {
  readonly type: "success" | "error" | "info";
  readonly text: string;
}

/** The page every form of the installer answers with, whether or not it worked (2.1). */
export function installerPage(model: Model, messages: readonly Message[], image?: string): string {
  const { identity, sideloaded } = model;
  const params = {
    messages: messages.length === 0 ? null : messages.map(({ text, type }) => ({ text, text_type: "text", type })),
    metadata: { dev_id: identity.seed.slice(0, 40), dev_key: true, voice_sdk: false },
    packages: sideloaded === null ? [] : [packageEntry(sideloaded)],
  };
  const shell = messages.map(
    ({ type, text }) =>
      `  Shell.create('Roku.Message').trigger('Set message type', '${type}')` +
      `.trigger('Set message content', '${scriptText(text)}').trigger('Render', node);`,
  );
  const fonts = messages.map(({ text }) => `<font color="red">${markup(text)}</font>`);
  return `<!DOCTYPE html>
<html>
<head><title>Development Application Installer</title></head>
<body>
<div id="root"></div>
<div style="display:none">${fonts.join("")}</div>
${image === undefined ? "" : `<img src="${image}" />\n`}<script type="text/javascript">
  var node = document.getElementById('root');
  var sizes = JSON.parse('[1,2]');
  var params = JSON.parse('${scriptText(JSON.stringify(params))}');
${shell.join("\n")}
</script>
</body>
</html>
`;
}

function packageEntry(sideloaded: NonNullable<Model["sideloaded"]>): Record<string, string> {
  const { fileName, fileType, md5, bytes } = sideloaded;
  return {
    appType: "channel",
    archiveFileName: fileName,
    fileType,
    id: "0",
    location: "nvram",
    md5,
    pkgPath: "",
    size: String(bytes),
  };
}

/** For inside single quotes in a script. */
function scriptText(text: string): string {
  return text
    .replace(/[\\']/g, (character) => `\\${character}`)
    .replaceAll("</", "<\\/")
    .replaceAll("\n", "\\n");
}

function markup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
