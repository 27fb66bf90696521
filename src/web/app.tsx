/** The shell: the bar, the current view, and the notice that the daemon cannot be followed. */
import { useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { call } from "./calls.ts";
import { focusView, goOnWith, houseTop, linkTo, route } from "./route.ts";
import { connection, entryOf, lostBecause } from "./store.ts";
import { Icon } from "./ui/icon.tsx";
import { Notice } from "./ui/notice.tsx";
import { Toast } from "./ui/status.tsx";
import { views } from "./views/index.ts";

/** The version of the daemon that this script came from, once it is known. */
let ownVersion: string | undefined;

/** Loads the page anew if the daemon that is back is of another version, with a script of its own. */
async function reloadIfReplaced(): Promise<void> {
  const { version } = await call("health");
  ownVersion ??= version;
  if (version !== ownVersion) location.reload();
}

/** Goes on with the whole where the device of an old address has become a part of another. */
async function goOnWithWhole(part: string): Promise<void> {
  const { id } = await call("getDevice", { id: part });
  if (id !== part) goOnWith(id, part);
}

export function App() {
  useSignalEffect(() => {
    // What cannot be asked now is asked when it is back the next time.
    if (connection.value === "live") reloadIfReplaced().catch(() => {});
  });
  useSignalEffect(() => {
    const { id } = route.value;
    const mayBePart = id !== null && /^[0-9a-f-]{36}$/.test(id) && !entryOf(id);
    if (mayBePart && connection.value === "live") goOnWithWhole(id).catch(() => {});
  });
  const { view, id } = route.value;
  const shown = views.find(({ path }) => path === view);
  const name = entryOf(id)?.device.value.name;
  useEffect(() => {
    document.title = [name, shown?.title, "zapd"].filter((part) => part !== undefined).join(" · ");
  }, [name, shown]);
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    // Coming back to the house restores its scroll position.
    scrollTo(0, view === "" ? houseTop() : 0);
    if (!isFirst.current && !document.activeElement?.closest("main")) focusView();
    isFirst.current = false;
  }, [view, id]);
  return (
    <>
      <header class="bar">
        <a class="brand" href={linkTo("")} aria-label="zapd, back to the house">
          <Icon name="zap" size={18} />
          zapd
        </a>
        <nav aria-label="Views">
          {views.flatMap(({ path, bar }) =>
            bar === undefined ? (
              []
            ) : (
              <a
                key={path}
                href={linkTo(path)}
                aria-current={path === view ? "page" : undefined}
                aria-label={bar.label}
                title={bar.label}
              >
                <Icon name={bar.icon} size={18} />
                <span class={bar.iconOnly ? "hidden" : ""}>{bar.label}</span>
              </a>
            ),
          )}
        </nav>
      </header>
      <ConnectionLost />
      <main class={connection.value === "lost" ? "is-stale" : ""}>
        {shown ? (
          <shown.show key={`${view}/${id ?? ""}`} id={id} />
        ) : (
          <Notice icon="search" title="Page not found" isPage />
        )}
      </main>
      <Toast />
    </>
  );
}

/** Shown while the daemon cannot be followed. It lies over the page, so that nothing below it moves. */
function ConnectionLost() {
  const { value: failure } = lostBecause;
  return (
    <div class="lost" role="status">
      {failure && (
        <p>
          <Icon name="plug" size={18} />
          <span>
            {failure.message}; trying again. {failure.hint}
          </span>
        </p>
      )}
    </div>
  );
}
