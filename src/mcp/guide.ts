/** What an agent should know before it drives the sets of a house: `zapd://guide.md`, and in short with the handshake. */

export const instructions =
  "zapd drives the TVs and media players of this house. Names of devices come from list_devices; without `device` the default one is meant. Say only what was read: `confirmed` true was seen at the device, false was not seen yet, null cannot be known. Before you say what is on, call get_state. A failure has a code, a message and a hint that says what mends it; pairing, renaming and settings are a person's to do. More: zapd://guide.md";

export const guide = `# zapd, for agents

zapd is one daemon that knows every TV and media player in the house. Its tools are few, and have the names of its HTTP API.

## How to work
1. \`list_devices\` once: names, ids, what each can do (\`capabilities\`), its \`keys\`, what its settings keep back (\`withheld\`).
2. Prefer the tool that says what you want (\`launch_app\`, \`set_volume\`, \`control_playback\`, \`set_power\`) to \`press_keys\`.
3. Every command answers with \`confirmed\`, \`before\` and \`after\`. Tell the person what they say:
   - \`true\`: the device was seen to do it;
   - \`false\`: it took the command, but does not show it yet. Look again with \`wait_for\`;
   - \`null\`: nobody can know. Say so; do not say that it is done.
4. \`null\` in a state is "unknown", not "none". \`app: null\` is the home screen, or an app that the device does not tell.
5. In menus, look (\`get_screenshot\`, \`get_state\`) in place of counting keys.
6. Slow things wait inside the tool: \`wait_for\`, \`wait_ms\`, waking a device. Do not call in a loop.

## When it fails
A failure is \`{code, message, hint}\`; the hint names what mends it. Some that are a person's to mend:
- \`pairing_required\`: somebody runs \`zapd pair NAME\`, and accepts it at the device.
- \`device_unreachable\`: it is off at the wall, asleep without network, or elsewhere.
- \`unsupported_operation\`, \`unsupported_key\`: this device cannot; the hint says what it can.
- \`device_refused\`: a setting of the device forbids it; the hint names the menu.
- \`daemon_not_running\`: somebody runs \`zapd serve\`, or \`zapd service install\` once and for all.

## Resources
\`zapd://devices\`, \`zapd://devices/{id}/state\` (both can be subscribed to), \`zapd://keys\`, this guide.
`;
