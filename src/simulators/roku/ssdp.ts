import { type Responder, startResponder } from "../ssdp.ts";
import type { Model } from "./model.ts";

/** Answers searches (1.1). Null when port 1900 cannot be had. */
export function answerSearches(model: Model, ecpPort: number, delayMs: number): Promise<Responder | null> {
  const lines = model.identity.legacy ? oldReply : reply;
  return startResponder(model.identity.host, delayMs, (target) =>
    target === "roku:ecp" || target === "ssdp:all" ? [lines(model, ecpPort)] : [],
  );
}

/** Exactly what a set on OS 15.3.4 was captured saying, in its order and case. */
function reply({ identity }: Model, ecpPort: number): string[] {
  const { softwareVersion, seed, serial, mac, host } = identity;
  return [
    "HTTP/1.1 200 OK",
    "Cache-Control: max-age=3600",
    "ST: roku:ecp",
    `USN: uuid:roku:ecp:${serial}`,
    "BOOTID.UPNP.ORG: 42",
    "Ext: ",
    `Server: Roku/${softwareVersion} UPnP/1.0 Roku/${softwareVersion}`,
    `LOCATION: http://${host}:${ecpPort}/`,
    `device-group.roku.com: ${seed.slice(20, 40).toUpperCase()}`,
    `WAKEUP: MAC=${mac};Timeout=10`,
  ];
}

function oldReply({ identity }: Model, ecpPort: number): string[] {
  return [
    "HTTP/1.1 200 OK",
    "Cache-Control: max-age=300",
    "ST: roku:ecp",
    `USN: uuid:roku:ecp:${identity.serial}`,
    "Ext: ",
    "Server: Roku UPnP/1.0 MiniUPnPd/1.4",
    `LOCATION: http://${identity.host}:${ecpPort}/`,
  ];
}
