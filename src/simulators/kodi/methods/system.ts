import { failed, invalidParams, type Method } from "../method.ts";
import type { Model } from "../model.ts";
import { names, text } from "../schema.ts";
import { pick } from "./application.ts";

/** What the system under it does not allow fails with -32100 (players.md 7.2). */
const leaving = (what: "shutdown" | "suspend" | "hibernate"): Method => ({
  run(model) {
    if (!model.identity.can[what]) throw failed();
    if (what === "shutdown") model.notify("System.OnQuit", { exitcode: 64 });
    else model.notify("System.OnSleep", null);
    model.leave("asleep", "told");
    return "OK";
  },
});

export const system: Readonly<Record<string, Method>> = {
  "System.GetProperties": {
    params: [
      {
        name: "properties",
        schema: names("System.Property.Name", ["canshutdown", "cansuspend", "canhibernate", "canreboot"]),
        required: true,
      },
    ],
    run({ identity }, { properties }) {
      const can = Object.entries(identity.can).map(([name, value]) => [`can${name}`, value]);
      return pick(properties, Object.fromEntries(can));
    },
  },
  "System.Shutdown": leaving("shutdown"),
  "System.Suspend": leaving("suspend"),
  "System.Hibernate": leaving("hibernate"),
  "Settings.GetSettingValue": {
    params: [{ name: "setting", schema: text, required: true }],
    // `services.deviceuuid` cannot be read (Kodi 20.1, ran).
    run(model, { setting }) {
      const value = settingsOf(model)[String(setting)];
      if (value === undefined) throw invalidParams();
      return { value };
    },
  },
};

/** How it may be controlled, in the words of its own settings (Kodi 20.1, ran). */
function settingsOf({ name, webPort, eventPort, identity, password }: Model): Record<string, unknown> {
  return {
    "services.devicename": name,
    "services.webserver": true,
    "services.webserverport": webPort,
    "services.webserverauthentication": password !== null,
    "services.webserverusername": identity.user,
    "services.esenabled": eventPort !== null,
    "services.esport": eventPort ?? 9_777,
    "services.esallinterfaces": true,
    "services.zeroconf": true,
  };
}
