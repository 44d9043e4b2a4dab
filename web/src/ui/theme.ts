/** The theme, dark or light: the system's, until the user chooses one. */

const KEY = "minibrains.theme";

export function applyTheme(): void {
  const chosen = localStorage.getItem(KEY);
  const system = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
  document.documentElement.dataset.theme =
    chosen === "dark" || chosen === "light" ? chosen : system;
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  applyTheme();
}
