import { randomBytes } from "node:crypto";
import type { Endpoints } from "../endpoint.ts";
import type { Model } from "../model.ts";
import { keep } from "../received.ts";
import { type Payload, textIn } from "../wire.ts";

/** The one uri that is answered before registration (smart-tvs.md 2.3). */
export const SYSTEM_INFO = "system/getSystemInfo";

export const system: Endpoints = {
  [SYSTEM_INFO]: { permission: null, answer: systemInfo },
  "com.webos.service.connectionmanager/getinfo": {
    permission: "READ_NETWORK_STATE",
    answer: ({ identity }) => ({
      subscribed: false,
      wiredInfo: { macAddress: identity.mac },
      wifiInfo: { macAddress: identity.wifiMac },
      p2pInfo: { macAddress: `06${identity.wifiMac.slice(2)}` },
    }),
  },
  "system.notifications/createToast": {
    permission: "WRITE_NOTIFICATION_TOAST",
    answer(model, payload) {
      const message = textIn(payload, "message");
      keep(model.received.toasts, message);
      model.emit({ type: "toast", message, text: `toast "${message}"` });
      return { toastId: `com.webos.service.apiadapter-${model.received.toasts.length}` };
    },
  },
  // Its permission is granted to signed manifests only: an unsigned one gets 401 here (smart-tvs.md 2.3).
  "com.webos.service.update/getCurrentSWInformation": {
    permission: "READ_UPDATE_INFO",
    answer: ({ firmware, identity }) => ({
      product_name: `webOSTV ${firmware.release}`,
      model_name: identity.model,
      major_ver: firmware.release.split(".")[0],
      minor_ver: firmware.release.split(".").slice(1).join("."),
      device_id: identity.mac,
    }),
  },
  "com.webos.service.networkinput/getPointerInputSocket": {
    permission: "CONTROL_MOUSE_AND_KEYBOARD",
    answer(model, _payload, caller) {
      const path = `/resources/${randomBytes(20).toString("hex")}/netinput.pointer.sock`;
      model.pointerPaths.add(path);
      return { socketPath: caller.url("ws", path) };
    },
  },
};

export function systemInfo({ identity, behaviour }: Model): Payload {
  return {
    features: { "3d": false, dvr: true },
    receiverType: behaviour.tuner ? "dvb" : "none",
    modelName: identity.model,
  };
}
