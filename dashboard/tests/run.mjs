// Runs one scenario: node run.mjs NAME. A test of the controller starts it, with the controller's address and tokens in the
// environment, and does what the scenario asks for.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { Visitor } from "./visitor.mjs";

const [name] = process.argv.slice(2);
const scenario = await import(`./scenarios/${name}.mjs`);
const url = process.env.VMAFX_URL;
const tokens = JSON.parse(process.env.VMAFX_TOKENS);

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Asks the test for something that only a node or an administrator can do. */
async function ask(what, details = {}) {
  process.stdout.write(`${JSON.stringify({ ask: what, ...details })}\n`);
  const { value, done } = await answers.next();
  if (done) throw new Error(`no answer to ${what}`);
  return JSON.parse(value);
}

/** Calls the API as a program does. */
async function call(token, method, path, body) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function submit(scoring = {}, job = {}, token = tokens.writer) {
  const clips = { reference: "/clips/master.y4m", distorted: "/clips/rendition.y4m", ...scoring };
  const { id } = await call(token, "POST", "/v1/jobs", { scoring: clips, ...job });
  return id;
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  // Containers have no user namespaces for Chromium's own sandbox, and the pages are ours.
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
let failed = false;
const visitors = [];
try {
  const visit = async (options) => {
    const visitor = await Visitor.open(browser, url, options);
    visitors.push(visitor);
    return visitor;
  };
  await scenario.default({ url, tokens, ask, call, submit, visit });
} catch (error) {
  failed = true;
  console.error(`scenario ${name}:`, error);
  for (const visitor of visitors) console.error(await visitor.describe());
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);
