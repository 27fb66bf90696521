/**
 * The annotated default config: what the first change writes where no file is yet. `config.toml` at the top of the
 * project is the same text, for people to read there; a test compares them. It is kept in the code because the compiled
 * program and the npm package have no such file beside them.
 */
export const defaultText = `# zapd's config. Every setting is here with its default; what you leave out has it too.
# Change it by hand and have it read (zapd config reload), or change single settings with
# zapd config set: your comments and your formatting stay.

[daemon]
# The HTTP API on the loopback interface. Off, only the control socket is left. (restart)
http_enabled = true
# 127.0.0.1, ::1 or localhost, and nothing else: the API knows no passwords. (restart)
http_host = "127.0.0.1"
# 1 to 65535 (restart)
http_port = 7272
# The control socket; empty means zapd.sock in the state folder. At most 107 bytes. (restart)
socket = ""
# Whether web pages of the origins below may call the API. Off, no page may.
cors_enabled = false
# Exact origins, such as ["http://localhost:3000"]: scheme, host and port; never * or a trailing slash.
cors_allowed_origins = []
# Name or id of the device that \`default\` stands for; empty means the only one there is.
default_device = ""
# error, warn, info or debug
log_level = "info"

[discovery]
# Look for devices when the daemon starts.
on_start = true
# Look again after this many seconds; 0 means never.
interval_s = 300
# How long one search listens, in milliseconds: 100 to 30000.
timeout_ms = 3000
# Interfaces to ask on, by name or address; empty means all but loopback.
interfaces = []
# Devices that no search reaches (another VLAN, a VPN), by address or name, with or without a port.
hosts = []

[devices]
# How long a device may take for one answer, in milliseconds: 100 to 30000.
request_timeout_ms = 5000

[dev]
# The password chosen when developer mode was turned on at the set. Never shown again: it reads as "[redacted]".
vendor_password = ""
`;
