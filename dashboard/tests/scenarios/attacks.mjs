import assert from "node:assert/strict";
import { createServer } from "node:http";

const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

export default async function ({ url, tokens, ask, call, submit, visit }) {
  const hostile = {
    reference: `/clips/${MARKUP}.y4m`,
    distorted: `/clips/"><svg onload=document.title='owned'>.y4m`,
    model: `oci://registry.example/${"a".repeat(200)}`,
    reportURI: `/clips/reports/javascript:document.title='owned'.json`,
  };
  const origin = { cluster: "c", namespace: MARKUP, name: "'; DROP TABLE jobs; --", uid: "u" };
  const job = await submit(hostile, { origin, idempotencyKey: `key ${MARKUP}` });
  await ask("register", { node: `node-${MARKUP}` });
  assert.equal(await ask("pull", { node: `node-${MARKUP}` }), job);
  await ask("fail", { job, reason: "FAILURE_REASON_WORKER_CRASHED", error: `crashed: ${MARKUP}` });

  // Every text is a text: no element of it exists, and it is shown as it was sent.
  const user = await visit();
  const { page } = user;
  await user.signIn(tokens.writer);
  const untouched = async (where) => {
    assert.equal(await page.locator("main img, main script, main svg[onload]").count(), 0, where);
    assert.ok((await page.title()).endsWith("· VMAFX"), where);
  };
  await user.sees(`"><svg onload=document.title='owned'>.y4m`);
  await untouched("the list");
  await page.goto(`/jobs/${job}`);
  await user.sees(`crashed: ${MARKUP}`);
  await user.sees(hostile.reference);
  await untouched("the job");
  await page.goto("/nodes");
  await user.sees(`node-${MARKUP}`);
  await untouched("the nodes");
  for (const path of [
    `/jobs?namespace=${encodeURIComponent(MARKUP)}&name=${encodeURIComponent(MARKUP)}`,
    `/jobs/${encodeURIComponent(MARKUP)}`,
    `/jobs?status=${encodeURIComponent(MARKUP)}`,
  ]) {
    await page.goto(path);
    await page.locator("main h1, main .empty").first().waitFor();
    await untouched(path);
  }
  user.expectStatus(404);
  // The policy of the page refuses what such a text would need, whoever put it there.
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.owned = true";
    document.body.append(script);
    return "owned" in window;
  });
  assert.equal(ran, false);
  user.problems = user.problems.filter((problem) => !problem.includes("Content Security Policy"));

  // Another port of the same host is another origin, but the same site: the cookie goes there and comes from there.
  const target = await submit({ distorted: "/clips/target.mp4" });
  const evil = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    const form = `<form method="post" enctype="text/plain" action="${url}/v1/jobs/${target}/cancel"><input name='{"reason":"' value='evil"}'></form>`;
    response.end(request.url === "/frame" ? `<iframe src="${url}/jobs"></iframe>` : form);
  });
  await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
  const evilUrl = `http://127.0.0.1:${evil.address().port}`;
  try {
    const other = await user.context.newPage();
    await other.goto(`${evilUrl}/`);
    const [response] = await Promise.all([
      other.waitForResponse((answer) => answer.url().endsWith("/cancel")),
      other.evaluate(() => document.forms[0].submit()),
    ]);
    assert.equal(response.status(), 403);
    assert.ok((await response.request().allHeaders()).cookie?.includes("vmafx_session"), "the attack had the cookie");
    const script = await user.context.newPage();
    await script.goto(`${evilUrl}/`);
    const scripted = await script.evaluate(async ({ at }) => {
      const send = (options) => fetch(at, { method: "POST", credentials: "include", ...options }).then(() => "sent", () => "refused");
      return [await send({ headers: { "x-vmafx-request": "dashboard" } }), await send({ mode: "no-cors" })];
    }, { at: `${url}/v1/jobs/${target}/cancel` });
    assert.equal(scripted[0], "refused");
    assert.equal((await call(tokens.writer, "GET", `/v1/jobs/${target}`)).status, "pending");

    const frames = await user.context.newPage();
    await frames.goto(`${evilUrl}/frame`);
    await frames.waitForLoadState("networkidle");
    const framed = frames.frames().filter((frame) => frame.url().startsWith(url));
    for (const frame of framed) assert.equal(await frame.locator("#app").count(), 0, "the page is in a frame");
  } finally {
    evil.close();
    evil.closeAllConnections();
  }
  await user.done();
}
