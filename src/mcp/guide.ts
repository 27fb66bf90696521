/** What an agent should know before it drives the devices of a house: `zapd://guide.md`, and a short form for the handshake. */

export const instructions =
  "zapd drives the TVs and media players of this house. list_devices has the names of the devices; without `device` a tool uses the default one. Report only what was read: `confirmed` true means that the device shows the effect, false that it does not show it yet, null that the device does not tell: compare `before` with `after`. Before you say what is on, call get_state. A failure has a code, a message and a hint that says what to do; pairing, renaming and settings are left to a person. More: zapd://guide.md";

export const guide = `# zapd, for agents

zapd is one daemon that knows every TV and media player in the house. It has few tools, named as in its HTTP API.

## How to work
1. \`list_devices\` once: names, ids, what each can do (\`capabilities\`), its \`keys\`, what its settings withhold (\`withheld\`).
2. Prefer the tool for the purpose (\`launch_app\`, \`set_volume\`, \`control_playback\`, \`set_power\`) over \`press_keys\`.
3. Every command answers with \`confirmed\`, \`before\` and \`after\`. Tell the person accordingly:
   - \`true\`: the device shows the effect;
   - \`false\`: it accepted the command, but does not show the effect yet. Check with \`wait_for\`;
   - \`null\`: the device does not tell. Compare \`before\` with \`after\`, as for a volume step; where they show nothing, do not say that it is done.
4. \`null\` in a state is "unknown", not "none". \`app: null\` is the home screen, or an app that the device does not report.
5. In menus, look (\`get_screenshot\`, \`get_state\`) instead of counting key presses.
6. The tools wait for slow effects themselves: \`wait_for\`, \`wait_ms\`, waking a device. Do not call them in a loop.

## When it fails
A failure is \`{code, message, hint}\`; the hint says what to do. Some failures need a person:
- \`pairing_required\`: a person must run \`zapd pair NAME\` and accept it at the device.
- \`device_unreachable\`: it has no power, sleeps without network, or has another address.
- \`unsupported_operation\`, \`unsupported_key\`: this device cannot do it; the hint says what it can do.
- \`device_refused\`: a setting of the device forbids it, or it cannot do it now; the hint says what to change.
- \`daemon_not_running\`: a person must run \`zapd serve\`, or \`zapd service install\` to keep it running.

## Resources
\`zapd://devices\`, \`zapd://devices/{id}/state\` (you can subscribe to both), \`zapd://keys\`, this guide.
`;
