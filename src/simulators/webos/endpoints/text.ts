import { deleteText, typeText } from "../actions.ts";
import { type Caller, DONE, type Endpoints } from "../endpoint.ts";
import type { Model } from "../model.ts";
import { numberIn, type Payload, textIn } from "../wire.ts";

const permission = "CONTROL_INPUT_TEXT";

export const text: Endpoints = {
  "com.webos.service.ime/registerRemoteKeyboard": {
    permission,
    topic: "keyboard",
    // Whether a field has the focus is told to subscriptions only (smart-tvs.md 2.4).
    subscribeOnly: true,
    read: (model) => ({ currentWidget: widgetOf(model) }),
    push: (model, detail) => ({ ...detail, currentWidget: widgetOf(model) }),
  },
  "com.webos.service.ime/insertText": {
    permission,
    answer(model, payload, caller) {
      const typed = textIn(payload, "text");
      if (taken(model, caller)) typeText(model, typed, payload["replace"] === 1 || payload["replace"] === true);
      return DONE;
    },
  },
  "com.webos.service.ime/deleteCharacters": {
    permission,
    answer(model, payload, caller) {
      const count = numberIn(payload, "count");
      if (taken(model, caller)) deleteText(model, count);
      return DONE;
    },
  },
  "com.webos.service.ime/sendEnterKey": { permission, answer: () => DONE },
};

const taken = (model: Model, caller: Caller) => !model.firmware.textNeedsKeyboard || caller.subscribed("keyboard");

function widgetOf({ focused, text: typed }: Model): Payload {
  if (!focused) return { focus: false };
  const length = [...typed].length;
  return {
    focus: true,
    contentType: "text",
    hiddenText: false,
    predictionEnabled: true,
    correctionEnabled: false,
    autoCapitalizationEnabled: true,
    hasSurroundingText: length > 0,
    surroundingTextLength: length,
    cursorPosition: length,
  };
}
