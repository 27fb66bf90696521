/** The shell: the bar, the view, and what is said of the daemon. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { houseTop, linkTo, route } from "./route.ts";
import { connection, entryOf } from "./store.ts";
import { Icon } from "./ui/icon.tsx";
import { Notice } from "./ui/notice.tsx";
import { Status } from "./ui/status.tsx";
import { views } from "./views/index.ts";

export function App() {
  const { view, id } = route.value;
  const shown = views.find(({ path }) => path === view);
  const name = id === null ? undefined : entryOf(id)?.device.value.name;
  useEffect(() => {
    document.title = [name, shown?.title, "zapd"].filter((part) => part !== undefined).join(" · ");
  }, [name, shown]);
  // Whoever comes back to the house finds the place where it was left.
  useLayoutEffect(() => scrollTo(0, view === "" ? houseTop() : 0), [view, id]);
  return (
    <>
      <header class="bar">
        <a class="brand" href={linkTo("")} aria-label="zapd, to the house">
          <Icon name="zap" size={18} />
          zapd
        </a>
        <nav aria-label="Views">
          {views.flatMap(({ path, bar }) =>
            bar === undefined ? (
              []
            ) : (
              <a key={path} href={linkTo(path)} aria-current={path === view ? "page" : undefined} title={bar.label}>
                <Icon name={bar.icon} size={18} />
                <span class={bar.iconOnly ? "hidden" : ""}>{bar.label}</span>
              </a>
            ),
          )}
        </nav>
      </header>
      <Lost />
      <main class={connection.value === "lost" ? "is-stale" : ""}>
        {shown ? (
          <shown.show key={`${view}/${id ?? ""}`} id={id} />
        ) : (
          <Notice icon="search" title="There is no such page" isPage>
            <p>
              <a href={linkTo("")}>To the house</a>
            </p>
          </Notice>
        )}
      </main>
      <Status />
    </>
  );
}

/** The daemon is gone: the last picture stays, dimmed, and it is tried again. It lies over the page, so that nothing jumps. */
function Lost() {
  const isLost = connection.value === "lost";
  return (
    <div class="lost" role="status">
      {isLost && (
        <p>
          <Icon name="plug" size={18} />
          <span>
            zapd does not answer; trying again. Start it with <code>zapd serve</code>.
          </span>
        </p>
      )}
    </div>
  );
}
