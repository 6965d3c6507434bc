import { render } from "preact";
import { App } from "./app";
import { setTheme, theme } from "./theme";

setTheme(theme());
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
