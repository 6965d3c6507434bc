// The colours: those of the system, unless the user chose others.

export type Theme = "system" | "light" | "dark";

const KEY = "vmafx-theme";

export function theme(): Theme {
  const chosen = localStorage.getItem(KEY);
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function setTheme(chosen: Theme): void {
  if (chosen === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset["theme"];
  } else {
    localStorage.setItem(KEY, chosen);
    document.documentElement.dataset["theme"] = chosen;
  }
  dispatchEvent(new Event("vmafx:theme"));
}

export function nextTheme(current: Theme): Theme {
  return current === "system" ? "light" : current === "light" ? "dark" : "system";
}
