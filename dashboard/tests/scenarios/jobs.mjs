import assert from "node:assert/strict";

const names = (page) => page.locator("tbody .row-link").allInnerTexts();

export default async function ({ tokens, ask, call, submit, visit }) {
  const user = await visit();
  const { page } = user;
  await user.signIn(tokens.writer);
  await user.sees("No jobs yet");
  await user.sees("Live");

  // The list grows without a reload, and not beyond two pages.
  for (let number = 0; number < 130; number += 1) {
    const origin = { cluster: "", namespace: number < 3 ? "archive" : "studio", name: `job-${number}`, uid: `uid-${number}` };
    await submit({ distorted: `/clips/clip-${String(number).padStart(3, "0")}.mp4` }, { origin });
  }
  await user.sees("newer jobs: show");
  await page.getByRole("button", { name: /newer jobs?: show/ }).click();
  await user.until(() => document.querySelectorAll("tbody tr").length === 50);
  const first = await names(page);
  assert.equal(first[0], "clip-129.mp4");
  assert.equal(first[49], "clip-080.mp4");

  // Pages by key: there and back, by link, and by the buttons of the browser.
  await page.getByRole("button", { name: "Older" }).click();
  await user.until(() => document.querySelector("tbody .row-link")?.textContent === "clip-079.mp4");
  const second = page.url();
  await page.getByRole("button", { name: "Older" }).click();
  await user.until(() => document.querySelector("tbody .row-link")?.textContent === "clip-029.mp4");
  assert.equal((await names(page)).length, 30);
  assert.ok(await page.getByRole("button", { name: "Older" }).isDisabled());
  await page.getByRole("button", { name: "Newer" }).click();
  await user.until(() => document.querySelector("tbody .row-link")?.textContent === "clip-079.mp4");
  assert.equal(page.url(), second);
  const pasted = await user.context.newPage();
  await pasted.goto(second);
  await pasted.getByText("clip-079.mp4").waitFor();
  await pasted.getByRole("button", { name: "Newest" }).click();
  await pasted.getByText("clip-129.mp4").waitFor();
  await pasted.close();
  await page.getByRole("button", { name: "Newer" }).click();
  await user.until(() => document.querySelector("tbody .row-link")?.textContent === "clip-129.mp4");

  // A new job appears on top, is taken, makes progress and gets its score, all in its row.
  const live = await submit({ distorted: "https://media.example/episode/live.mp4?X-Amz-Signature=5ec2e7" });
  const row = page.locator("tbody tr").first();
  await user.until(() => document.querySelector("tbody .row-link")?.textContent === "live.mp4");
  assert.equal(await row.getByText("live.mp4", { exact: true }).getAttribute("title"), "https://media.example/episode/live.mp4?X-Amz-Signature=5ec2e7");
  await user.sees("Pending", row);
  await ask("register", { node: "node-a" });
  await call(tokens.writer, "PATCH", `/v1/jobs/${live}`, { priority: 900 });
  assert.equal(await ask("pull", { node: "node-a" }), live);
  await user.sees("Running", row);
  await user.sees("node-a", row);
  await user.sees("900", row);
  await ask("progress", { job: live, done: 250, total: 1000 });
  await row.getByRole("progressbar").waitFor();
  await user.until(() => document.querySelector("tbody [role=progressbar]")?.getAttribute("aria-valuenow") === "25");
  await ask("complete", { job: live, score: 93.456 });
  await user.sees("93.46", row);
  await user.sees("Completed", row);

  // Filters are in the address.
  await page.getByRole("button", { name: "Completed" }).click();
  await page.waitForURL("**/jobs?status=completed");
  await user.until(() => document.querySelectorAll("tbody tr").length === 1);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("archive");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/jobs?namespace=archive");
  await user.until(() => document.querySelectorAll("tbody tr").length === 3);
  assert.deepEqual(await names(page), ["clip-002.mp4", "clip-001.mp4", "clip-000.mp4"]);
  await page.getByLabel("Name", { exact: true }).fill("job-1");
  await page.keyboard.press("Enter");
  await user.until(() => document.querySelectorAll("tbody tr").length === 1);
  await page.goBack();
  await user.until(() => document.querySelectorAll("tbody tr").length === 3);

  // Keys move, select and open; several jobs are cancelled at once.
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await user.sees("2 jobs selected");
  await page.getByRole("button", { name: "Cancel 2" }).click();
  await page.getByLabel("Reason (optional)").fill("wrong master");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await user.until(() => [...document.querySelectorAll("tbody .badge")].filter((badge) => badge.textContent === "Cancelled").length === 2);
  const { jobs } = await call(tokens.writer, "GET", "/v1/jobs?status=cancelled");
  assert.equal(jobs.length, 2);
  assert.ok(jobs.every((job) => job.error.includes("wrong master")));
  await page.keyboard.press("k");
  const [newest] = await names(page);
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/jobs/*");
  assert.equal(await page.locator("h1").innerText(), newest);
  await page.goBack();
  await page.waitForURL("**/jobs?namespace=archive");

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.waitForURL("**/nodes");
  await page.keyboard.press("t");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
  await page.keyboard.press("t");
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(13, 16, 20)");
  await page.reload();
  await page.getByRole("button", { name: "Colours: dark. Change" }).waitFor();
  await user.done();
}
