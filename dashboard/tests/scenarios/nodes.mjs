import assert from "node:assert/strict";

export default async function ({ tokens, ask, submit, visit }) {
  const user = await visit();
  const { page } = user;
  await user.signIn(tokens.reader, "/nodes");
  await user.sees("No node is connected");
  await ask("register", { node: "node-good", slots: 2 });
  await ask("register", { node: "node-bad", slots: 1 });
  const good = page.locator("tbody tr", { hasText: "node-good" });
  await user.sees("nothing", good);
  const running = await submit({ distorted: "/clips/being-scored.mp4" });
  assert.equal(await ask("pull", { node: "node-good" }), running);
  await user.sees("being-scored.mp4", good);
  await user.sees("1 of 2", good);
  await ask("progress", { job: running, done: 300, total: 1000 });
  await user.sees("30 %", good);

  const bad = page.locator("tbody tr", { hasText: "node-bad" });
  for (let failure = 0; failure < 3; failure += 1) {
    await submit({ distorted: `/clips/unlucky-${failure}.mp4` });
    const job = await ask("pull", { node: "node-bad" });
    await ask("fail", { job, reason: "FAILURE_REASON_WORKER_CRASHED", error: "no memory <b>left</b>" });
  }
  await user.sees("Quarantined: WorkerCrashed", bad);
  await user.sees("3 attempts failed in a row", bad);
  await user.sees("no memory <b>left</b>", bad);
  await user.sees("1 quarantined");
  await good.getByRole("link", { name: "being-scored.mp4" }).click();
  await page.waitForURL(`**/jobs/${running}`);
  await user.sees("300 of 1,000 frames");
  await user.done();
}
