/** Requests that a page can make in a browser without permission (SECURITY.md 2.2), as scripts, and what the daemon answers. */

/** A script of a page, given the daemon's address; it ends once the browser has its answer. */
type Attack = (base: string, path: string, body: string) => Promise<void>;
export const attacks: Readonly<Record<string, Attack>> = {
  "a form that sends itself": async (base, path, body) => {
    const frame = document.createElement("iframe");
    frame.name = "there";
    document.body.append(frame);
    const form = document.createElement("form");
    Object.assign(form, { method: "POST", enctype: "text/plain", action: base + path, target: "there" });
    const field = document.createElement("input");
    // As text/plain it is sent as `name=value`: together they are JSON.
    Object.assign(field, { name: `${body.slice(0, -1)},"x":"`, value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
    await new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
  },
  "a form with a file": async (base, _path, body) => {
    const form = new FormData();
    form.append("archive", new Blob([body]), "a.zip");
    await fetch(`${base}/v1/devices/set/dev/install`, { method: "POST", mode: "no-cors", body: form }).catch(() => {});
  },
  "fetch, no-cors": async (base, path, body) => {
    await fetch(base + path, { method: "POST", mode: "no-cors", body }).catch(() => {});
  },
  "fetch without a body": async (base) => {
    await fetch(`${base}/v1/devices/set/apps/stop`, { method: "POST", mode: "no-cors" }).catch(() => {});
  },
  "fetch as JSON, which is asked for first": async (base, path, body) => {
    const headers = { "content-type": "application/json" };
    await fetch(base + path, { method: "POST", headers, body }).catch(() => {});
  },
  "DELETE and PATCH": async (base) => {
    for (const method of ["DELETE", "PATCH"])
      await fetch(`${base}/v1/devices/set`, { method, body: '{"name":"mine"}' }).catch(() => {});
  },
  sendBeacon: async (base, path, body) => {
    navigator.sendBeacon(base + path, body);
    await new Promise((resolve) => setTimeout(resolve, 300));
  },
  "an image, a script, a style": async (base, path) => {
    for (const [name, field] of [
      ["img", "src"],
      ["script", "src"],
      ["link", "href"],
    ] as const) {
      const element = document.createElement(name);
      Object.assign(element, { [field]: base + path, rel: "stylesheet" });
      document.body.append(element);
      await new Promise((resolve) => {
        element.addEventListener("error", resolve, { once: true });
        element.addEventListener("load", resolve, { once: true });
      });
    }
  },
  "a sandboxed frame": async (base, path, body) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    const call = `fetch(${JSON.stringify(base + path)},{method:"POST",mode:"no-cors",body:${JSON.stringify(body)}})`;
    frame.srcdoc = `<script>${call}.catch(()=>{}).then(()=>parent.postMessage("done","*"))</script>`;
    const done = new Promise((resolve) => addEventListener("message", resolve, { once: true }));
    document.body.append(frame);
    await done;
  },
  "fetched ahead, by speculation rules": async (base) => {
    const rules = document.createElement("script");
    rules.type = "speculationrules";
    rules.textContent = JSON.stringify({ prefetch: [{ source: "list", urls: [`${base}/v1/devices/set/state`] }] });
    document.head.append(rules);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  },
  "a WebSocket": async (base, path) => {
    const socket = new WebSocket(base.replace("http", "ws") + path);
    await new Promise((resolve) => {
      for (const end of ["open", "error", "close"]) socket.addEventListener(end, resolve, { once: true });
    });
  },
};
/** The daemon's answers to each. */
export const answered: Readonly<Record<keyof typeof attacks, readonly number[]>> = {
  "a form that sends itself": [403],
  "a form with a file": [403],
  "fetch, no-cors": [403],
  "fetch without a body": [403],
  "fetch as JSON, which is asked for first": [403],
  "DELETE and PATCH": [403, 403],
  sendBeacon: [403],
  "an image, a script, a style": [405, 405, 405],
  "a sandboxed frame": [403],
  "fetched ahead, by speculation rules": [403],
  "a WebSocket": [403],
};
