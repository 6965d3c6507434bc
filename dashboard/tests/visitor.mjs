// A user with a browser of their own, who notices what a page must never do.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const TIMEOUT_MS = 20_000;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export class Visitor {
  static async open(browser, url, options = {}) {
    const context = await browser.newContext({
      baseURL: url,
      viewport: { width: 1280, height: 800 },
      locale: "en-GB",
      timezoneId: "Europe/Berlin",
      reducedMotion: "reduce",
      ...options,
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    return new Visitor(context, page, url);
  }

  constructor(context, page, url) {
    this.context = context;
    this.page = page;
    this.problems = [];
    page.on("pageerror", (error) => this.problems.push(`error in the page: ${error}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.problems.push(`console: ${message.text()}`);
    });
    page.on("request", (request) => {
      const to = new URL(request.url());
      if (to.protocol !== "data:" && to.origin !== url) this.problems.push(`request to ${request.url()}`);
    });
    page.on("dialog", (dialog) => {
      this.problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /** Refused calls that a scenario causes on purpose: Chromium writes each to the console. */
  expectStatus(status) {
    const expected = new RegExp(`^console: Failed to load resource: .* status of ${status} `);
    const before = this.problems.length;
    this.problems = this.problems.filter((problem) => !expected.test(problem));
    assert.ok(this.problems.length < before, `no response had the status ${status}`);
  }

  /** Requests that failed because a scenario stopped the controller. */
  expectOutage() {
    const before = this.problems.length;
    this.problems = this.problems.filter((problem) => !/^console: .*net::ERR_/.test(problem));
    assert.ok(this.problems.length < before, "no request failed");
  }

  async goto(path) {
    await this.page.goto(path);
  }

  async signIn(token, path = "/jobs") {
    await this.goto(path);
    await this.page.getByLabel("Token").fill(token);
    await this.page.getByRole("button", { name: "Sign in" }).click();
    await this.page.getByRole("button", { name: "Sign out" }).waitFor();
  }

  /** Waits for a text, as a user does. */
  async sees(text, within = this.page) {
    await within.getByText(text).first().waitFor();
  }

  /** Waits until the function returns true for what the page shows. */
  async until(condition, argument) {
    await this.page.waitForFunction(condition, argument);
  }

  /** Fails if the page has a barrier for users of assistive technology, in light or dark colours. */
  async checkAccessibility(what) {
    for (const colorScheme of ["light", "dark"]) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.evaluate(axe);
      const { violations } = await this.page.evaluate(() =>
        globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }),
      );
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("\n  ")}`);
      assert.deepEqual(found, [], `${what} in ${colorScheme}`);
    }
  }

  /** What the user sees, for a scenario that failed. */
  async describe() {
    if (this.page.isClosed()) return "a user who has left";
    const text = await this.page.locator("body").innerText();
    return `a user at ${this.page.url()} sees:\n${text}\nproblems: ${this.problems.join("\n")}`;
  }

  async done() {
    await this.context.close();
    assert.deepEqual(this.problems, []);
  }
}
