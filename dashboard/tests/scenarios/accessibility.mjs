export default async function ({ tokens, ask, submit, visit }) {
  const user = await visit();
  const { page } = user;
  await user.goto("/sign-in?return=%2Fjobs");
  await page.getByLabel("Token").waitFor();
  await user.checkAccessibility("signing in");
  await page.getByLabel("Token").fill("wrong-0123456789abcdef");
  await page.getByRole("button", { name: "Sign in" }).click();
  await user.sees("This token is not valid here");
  user.expectStatus(401);
  await user.checkAccessibility("a wrong token");

  await user.signIn(tokens.writer);
  await user.sees("No jobs yet");
  await user.checkAccessibility("no jobs");
  await user.goto("/nodes");
  await user.sees("No node is connected");
  await user.checkAccessibility("no nodes");

  await ask("register", { node: "node-a" });
  await ask("register", { node: "node-b", slots: 1 });
  const jobs = {};
  for (const name of ["completed", "running", "failed", "cancelled", "retried"]) {
    jobs[name] = await submit({ distorted: `/clips/${name}.mp4` });
    const pulled = await ask("pull", { node: name === "retried" ? "node-b" : "node-a" });
    if (pulled !== jobs[name]) throw new Error(`${pulled} is not the job ${name}`);
  }
  jobs.pending = await submit({ distorted: "/clips/pending.mp4" });
  await ask("complete", { job: jobs.completed, score: 91.2, warnings: ["The clips have different colour spaces."] });
  await ask("progress", { job: jobs.running, done: 10, total: 40 });
  await ask("fail", { job: jobs.failed, reason: "FAILURE_REASON_INPUT_INVALID", error: "frame 12 is truncated" });
  await ask("fail", { job: jobs.retried, reason: "FAILURE_REASON_WORKER_CRASHED", error: "killed by signal 9" });

  await user.goto("/jobs");
  await user.sees("pending.mp4");
  await page.getByRole("checkbox", { name: "Select pending.mp4" }).check();
  await page.getByRole("button", { name: "Failed" }).waitFor();
  await user.checkAccessibility("the list");
  await page.getByRole("button", { name: "Cancel 1" }).click();
  await page.getByRole("dialog").waitFor();
  await user.checkAccessibility("the question before cancelling");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await user.checkAccessibility("the keys");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Running" }).click();
  await user.until(() => document.querySelectorAll("tbody tr").length === 2);
  await user.checkAccessibility("a filtered list");
  for (const [name, id] of Object.entries(jobs)) {
    await user.goto(`/jobs/${id}`);
    await user.sees("What was asked");
    await user.checkAccessibility(`a job that is ${name}`);
  }
  await user.goto("/nodes");
  await user.sees("running.mp4");
  await user.checkAccessibility("the nodes");
  await page.setViewportSize({ width: 390, height: 780 });
  await user.goto("/jobs");
  await user.sees("pending.mp4");
  await user.checkAccessibility("a narrow list");
  await user.goto(`/jobs/${jobs.completed}`);
  await user.sees("What was asked");
  await user.checkAccessibility("a narrow job");
  await user.done();
}
