/** The theme, dark or light: the system's, until the user chooses one. */

const KEY = "minibrains.theme";

function applyTheme(): void {
  const chosen = localStorage.getItem(KEY);
  const system = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  document.documentElement.dataset.theme =
    chosen === "dark" || chosen === "light" ? chosen : system;
}

/** Apply the theme, and again whenever that of the system changes; then `changed` is called. */
export function followTheme(changed = () => {}): void {
  applyTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    applyTheme();
    changed();
  });
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  applyTheme();
}
