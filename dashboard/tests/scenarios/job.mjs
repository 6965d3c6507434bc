import assert from "node:assert/strict";

export default async function ({ tokens, ask, call, submit, visit }) {
  const user = await visit();
  const { page } = user;
  const other = await submit({ distorted: "/clips/first.mp4" });
  const job = await submit({
    reference: "file:///clips/master%20copy.y4m",
    distorted: "file:///clips/it's%20new.y4m",
    model: "vmaf_v0.6.1",
    features: ["psnr"],
    frameStep: 2,
    scaleTo: { width: 1920, height: 1080 },
    input: { width: 1920, height: 1080, pixelFormat: "yuv420p", bitDepth: 10 },
  });

  // Why it waits, in numbers that follow the queue.
  await user.signIn(tokens.writer, `/jobs/${job}`);
  assert.equal(await page.locator("h1").innerText(), "it's%20new.y4m");
  await user.sees("Waits for a node");
  await user.sees("No node is connected.");
  const tile = (name) => page.locator(".tiles div", { has: page.getByText(name, { exact: true }) }).locator("dd");
  assert.equal(await tile("Ahead by age").innerText(), "1");
  await ask("register", { node: "node-a", slots: 1 });
  assert.equal(await ask("pull", { node: "node-a" }), other);
  await user.sees("Waits for a free slot");
  await user.sees("1 of 1 slots busy");
  await user.until(() => [...document.querySelectorAll(".tiles div")].some((tile) => tile.textContent === "Ahead by age0"));
  await page.getByLabel("Priority").fill("7");
  await page.getByRole("button", { name: "Set" }).click();
  await user.sees("Stored.");
  await user.sees("Now 7.");

  // An attempt that fails through no fault of the job, the next one with progress, then the score: without a reload.
  await ask("complete", { job: other, score: 50 });
  assert.equal(await ask("pull", { node: "node-a" }), job);
  await user.sees("The node has not reported progress yet");
  await ask("progress", { job, done: 1000, total: 4000 });
  await user.sees("1,000 of 4,000 frames");
  await ask("fail", { job, reason: "FAILURE_REASON_WORKER_CRASHED", error: "the worker was killed by signal 11" });
  await user.sees("Waits before the next attempt");
  await user.sees("failed: WorkerCrashed");
  await user.sees("the worker was killed by signal 11", page.locator("table.attempts"));
  await page.locator(".timeline canvas").waitFor();
  await page.getByLabel("Label this clip").fill("71.5");
  await page.getByRole("button", { name: "Label", exact: true }).click();
  await user.sees("It becomes a training sample with the score.");
  await user.sees("Labelled 71.50");
  const { groundTruth } = await call(tokens.writer, "GET", `/v1/jobs/${job}`);
  assert.equal(groundTruth, 71.5);

  // Where a score comes from, and the command that repeats it, with every word quoted.
  const scored = await submit({ reference: "/clips/a b.y4m", distorted: "/clips/$(reboot)'`.y4m", model: "vmaf_v0.6.1", frameStep: 2 }, { priority: 1000 });
  await ask("register", { node: "node-b" });
  assert.equal(await ask("pull", { node: "node-b" }), scored);
  await ask("complete", { job: scored, score: 88.125, warnings: ["The distorted clip has 12 frames more; they were ignored."] });
  await user.goto(`/jobs/${scored}`);
  await user.sees("88.13", page.locator(".hero"));
  await user.sees("1 warning about this score");
  await user.sees("they were ignored.");
  assert.equal(await tile("P5").innerText(), "80.03");
  assert.equal(await tile("Harmonic").innerText(), "87.50");
  await user.sees("vif_scale0");
  await user.sees("native-avx512");
  await user.sees("Landlock ABI 4, seccomp, 2.0 GiB of memory, 4 h of CPU, 1 h in all");
  await user.sees("s3://renditions/reports/trailer.json");
  const command = await page.locator(".copyable.block code").innerText();
  assert.equal(
    command,
    "vmafx score --reference '/clips/a b.y4m' --distorted '/clips/$(reboot)'\\''`.y4m' --model vmaf_v0.6.1 --subsample 2",
  );
  await page.getByLabel("Label this clip").fill("101");
  await page.getByRole("button", { name: "Label", exact: true }).click();
  assert.equal(await page.getByLabel("Label this clip").evaluate((field) => field.validity.rangeOverflow), true);
  await page.getByLabel("Label this clip").fill("90");
  await page.getByRole("button", { name: "Label", exact: true }).click();
  await user.sees("It is a training sample now.");
  assert.ok(await page.getByRole("button", { name: "Cancel" }).isDisabled());

  // Cancel, with the reason in the job.
  await user.goto(`/jobs/${job}`);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").getByLabel("Reason (optional)").fill("not needed");
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await user.sees("not needed", page.locator(".notice"));
  await page.getByRole("dialog").waitFor({ state: "detached" });

  await user.goto("/jobs/00000000-0000-7000-8000-000000000000");
  await user.sees("This job does not exist");
  user.expectStatus(404);
  await user.done();
}
