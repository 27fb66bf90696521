import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { CommandError } from "../../src/cli/failure.ts";
import { isPassing } from "../../src/cli/service.ts";
import { plistText, programOf, unitText, unitWord } from "../../src/cli/service-managers.ts";

const awkward = `/opt/my "tv"/100%/a\\b & <c>'s/zapd`;

describe("the text", () => {
  test("of a unit", () => {
    const env = { ZAPD_CONFIG: "/home/ann/my config.toml", ZAPD_STATE_DIR: "/srv/50%" };
    expect(unitText({ words: [awkward, "serve"], env })).toBe(
      String.raw`# Written by ${"`"}zapd service install${"`"}; ${"`"}zapd service uninstall${"`"} removes it.
[Unit]
Description=zapd, one daemon for every TV and media player in the house

[Service]
Type=exec
ExecStart="/opt/my \"tv\"/100%%/a\\b & <c>'s/zapd" "serve"
Environment="ZAPD_CONFIG=/home/ann/my config.toml"
Environment="ZAPD_STATE_DIR=/srv/50%%"
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=78
NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=default.target
`,
    );
    expect(unitText({ words: ["/srv/$HOME/zapd", "serve"], env: {} })).toContain(
      '\nExecStart=:"/srv/$HOME/zapd" "serve"\n',
    );
    expect(unitWord("")).toBe('""');
  });

  test("of an agent", () => {
    const program = { words: [awkward, "serve"], env: { ZAPD_CONFIG: "/a b.toml" } };
    expect(plistText(program, "/Users/ann/Library/Logs/zapd")).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by zapd service install; zapd service uninstall removes it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>local.zapd</string>
	<key>ProgramArguments</key>
	<array>
		<string>/opt/my &quot;tv&quot;/100%/a\\b &amp; &lt;c&gt;&apos;s/zapd</string>
		<string>serve</string>
	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>ZAPD_CONFIG</key>
		<string>/a b.toml</string>
	</dict>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>30</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardOutPath</key>
	<string>/Users/ann/Library/Logs/zapd/zapd.log</string>
	<key>StandardErrorPath</key>
	<string>/Users/ann/Library/Logs/zapd/zapd.log</string>
</dict>
</plist>
`);
  });
});

describe("what runs now", () => {
  const at = (execPath: string, script: string, deno = false) => ({ execPath, script, deno });

  test("is the binary by itself, or a runtime and its script, with what a shell has set", () => {
    expect(programOf(at("/usr/bin/zapd", "/$bunfs/root/zapd"), {}).words).toEqual(["/usr/bin/zapd", "serve"]);
    expect(programOf(at("C:\\zapd.exe", "B:\\~BUN\\root\\zapd.exe"), {}).words).toEqual(["C:\\zapd.exe", "serve"]);
    const env = { ZAPD_CONFIG: "own.toml", XDG_STATE_HOME: "/s", PATH: "/bin" };
    expect(programOf(at("/bin/bun", "/src/main.ts"), env, "given.toml")).toEqual({
      words: ["/bin/bun", "/src/main.ts", "serve", "--config", join(process.cwd(), "given.toml")],
      env: { ZAPD_CONFIG: join(process.cwd(), "own.toml"), XDG_STATE_HOME: "/s" },
    });
  });

  test("is refused where no service can say it, and known to pass where npm keeps it for a while", () => {
    expect(() => programOf(at("/bin/deno", "/src/main.ts", true), {})).toThrow(CommandError);
    expect(() => programOf(at("/bin/zapd", "/$bunfs/root/zapd"), { ZAPD_CONFIG: "/a\nb" })).toThrow(
      "control character",
    );
    expect(isPassing(programOf(at("/bin/bun", "/home/ann/.npm/_npx/1/main.ts"), {}))).toBe(true);
  });
});
