// Tabs, as the pattern of WAI-ARIA says: arrows go from one to the next, and only the current one is reached by Tab.

/** Makes a list of tabs work. `opened` is called with the name of the tab that is shown. */
export function tabs(list, opened) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const panel = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  const name = (tab) => tab.id.replace("tab-", "");
  const current = () => all.find((tab) => tab.getAttribute("aria-selected") === "true");

  function select(chosen) {
    const before = current();
    for (const tab of all) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      panel(tab).hidden = !isChosen;
    }
    if (chosen !== before) opened(name(chosen));
  }

  for (const tab of all) tab.onclick = () => select(tab);
  list.onkeydown = (event) => {
    const shown = all.filter((tab) => !tab.hidden);
    const at = shown.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = shown[(to + shown.length) % shown.length];
    select(next);
    next.focus();
  };
  return {
    current: () => name(current()),
    show: (wanted) => select(all.find((tab) => name(tab) === wanted)),
  };
}
