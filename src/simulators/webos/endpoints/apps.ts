import { closeApp, launch } from "../actions.ts";
import { BROWSER } from "../defaults.ts";
import type { Caller, Endpoints } from "../endpoint.ts";
import type { Model } from "../model.ts";
import type { SimulatedApp } from "../options.ts";
import { applicationError, isPayload, type Payload, textIn } from "../wire.ts";

export const apps: Endpoints = {
  "com.webos.applicationManager/getForegroundAppInfo": {
    permission: "READ_RUNNING_APPS",
    topic: "app",
    // "" when the set is off (smart-tvs.md 2.4).
    read: (model) => ({ appId: model.power === "on" ? model.active : "", windowId: "", processId: "" }),
  },
  "com.webos.applicationManager/listLaunchPoints": {
    permission: "READ_INSTALLED_APPS",
    topic: "apps",
    read: (model, caller) => ({
      caseDetail: { serviceCountryCode: "GBR", change: [] },
      launchPoints: model.apps.filter(({ hidden }) => !hidden).map((app) => launchPoint(app, model, caller)),
    }),
    // A delta: `change` among the fields of the launch point that came or went (smart-tvs.md 2.4).
    push: (model, { change, app }, caller) => ({ change, ...launchPoint(app as SimulatedApp, model, caller) }),
  },
  "com.webos.applicationManager/listApps": {
    permission: "READ_INSTALLED_APPS",
    answer: (model, _payload, caller) => ({
      apps: model.apps.map((app) => ({
        ...launchPoint(app, model, caller),
        version: app.version ?? "1.0.0",
        visible: !app.hidden,
        type: "web",
      })),
    }),
  },
  "system.launcher/launch": {
    permission: "LAUNCH",
    answer(model, payload) {
      const id = textIn(payload, "id");
      if (!model.apps.some((app) => app.id === id))
        throw applicationError(-101, `"${id}" was not found OR Unsupported Application Type`);
      const { contentId, params } = payload;
      launch(model, {
        id,
        contentId: typeof contentId === "string" ? contentId : null,
        params: isPayload(params) ? params : {},
        target: null,
      });
      return { id, sessionId: sessionId(id) };
    },
  },
  "system.launcher/open": {
    permission: "LAUNCH_WEBAPP",
    answer(model, payload) {
      launch(model, { id: BROWSER, contentId: null, params: {}, target: textIn(payload, "target") });
      return { id: BROWSER, sessionId: sessionId(BROWSER) };
    },
  },
  "system.launcher/close": {
    permission: "CLOSE",
    answer(model, payload) {
      const id = textIn(payload, "id");
      // What a set says of an app that does not run is in no source but this: it is an application error.
      if (!model.running.has(id)) throw applicationError(-1000, `"${id}" is not running`);
      closeApp(model, id);
      return { sessionId: sessionId(id) };
    },
  },
};

function launchPoint(app: SimulatedApp, { identity }: Model, caller: Caller): Payload {
  const icon = caller.url("http", `/resources/${identity.seed.slice(0, 40)}/${app.id}.png`);
  return {
    id: app.id,
    launchPointId: `${app.id}_default`,
    title: app.title,
    icon,
    largeIcon: icon,
    systemApp: app.system ?? false,
    removable: !app.system,
    params: {},
  };
}

const sessionId = (id: string) => Buffer.from(`${id}:undefined`).toString("base64");
