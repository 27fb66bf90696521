/** IP addresses, as texts. Not `node:net`: loading it would double the time to the daemon's first answer. */

/** Whether a text is an IPv4 address in its usual form. */
export function isIPv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** Whether a text is an IP address. */
export function isIP(text: string): boolean {
  return isIPv4(text) || (text.includes(":") && /^[0-9a-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`));
}
