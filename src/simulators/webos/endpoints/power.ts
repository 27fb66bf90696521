import { setScreen } from "../actions.ts";
import { DONE, type Endpoint, type Endpoints } from "../endpoint.ts";
import { type Model, powerState } from "../model.ts";
import { applicationError } from "../wire.ts";

export const power: Endpoints = {
  "com.webos.service.tvpower/power/getPowerState": {
    permission: "READ_POWER_STATE",
    topic: "power",
    exists: ({ firmware }) => firmware.powerState,
    read: (model) => ({
      state: powerState(model),
      ...(model.processing === null ? {} : { processing: model.processing }),
    }),
  },
  "system/turnOff": {
    permission: "CONTROL_POWER",
    answer(model) {
      // In standby this turns the set on (smart-tvs.md 2.5).
      model.togglePower();
      return model.firmware.turnOffAnswers ? DONE : null;
    },
  },
  "com.webos.service.tvpower/power/turnOffScreen": screen("tvpower", "off"),
  "com.webos.service.tvpower/power/turnOnScreen": screen("tvpower", "on"),
  "com.webos.service.tv.power/turnOffScreen": screen("tv.power", "off"),
  "com.webos.service.tv.power/turnOnScreen": screen("tv.power", "on"),
};

function screen(service: Model["firmware"]["screen"], wanted: "on" | "off"): Endpoint {
  return {
    permission: "CONTROL_TV_SCREEN",
    exists: ({ firmware }) => firmware.screen === service,
    answer(model) {
      const fits = model.power === "on" && (wanted === "on") === (model.screen === "off");
      // Code -102 as for turnOnScreen while Active (smart-tvs.md 2.5); the words are in no source.
      if (!fits) throw applicationError(-102, `the screen cannot be turned ${wanted} in state "${powerState(model)}"`);
      setScreen(model, wanted);
      return { state: powerState(model) };
    },
  };
}
