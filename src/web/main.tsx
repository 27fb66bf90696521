/** The entry point of the page. */
import { render } from "preact";
import { App } from "./app.tsx";
import { startRouting } from "./route.ts";
import { startStream } from "./stream.ts";
import "./style.css";

const place = document.getElementById("app");
if (place) {
  startRouting();
  startStream();
  render(<App />, place);
}
