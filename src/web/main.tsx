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
  // What is said of a script that does not come.
  place.replaceChildren();
  render(<App />, place);
}
