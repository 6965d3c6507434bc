// Pictures of every page with a queue as a studio has one: all of them in target/screenshots, and three for the README.
import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PICTURES = here("../../../target/screenshots/");
const README = { "jobs-light": "dashboard-jobs.png", "job-completed-dark": "dashboard-job.png", "job-waiting-light": "dashboard-waiting.png" };

const TITLES = ["northern-lights", "harbour-run", "glass-city", "the-long-take", "orchard", "tidal"];
const RUNGS = ["2160p_hevc_14000k", "1080p_hevc_5800k", "1080p_avc_7500k", "720p_avc_3200k", "540p_avc_1600k", "360p_avc_700k"];

function clips(number) {
  const title = TITLES[number % TITLES.length];
  const rung = RUNGS[Math.floor(number / TITLES.length) % RUNGS.length];
  return {
    reference: `s3://renditions/masters/${title}_s01e0${1 + (number % 4)}.mov`,
    distorted: `s3://renditions/packages/${title}_s01e0${1 + (number % 4)}_${rung}.mp4`,
    model: number % 5 === 0 ? "vmaf_4k_v0.6.1" : "vmaf_v0.6.1",
  };
}

export default async function ({ ask, submit, visit }) {
  await mkdir(PICTURES, { recursive: true });
  for (const [node, slots] of [["pool-a-0", 4], ["pool-a-1", 4], ["pool-a-2", 2], ["pool-b-0", 1]]) await ask("register", { node, slots });
  const take = async (number, node) => {
    const origin = { cluster: "prod", namespace: "episodes", name: `${clips(number).distorted.split("/").pop()}`, uid: `uid-${number}` };
    const job = await submit(clips(number), { origin, priority: number % 7 === 0 ? 60 : 0 });
    if (node && (await ask("pull", { node })) !== job) throw new Error("another job was taken");
    return job;
  };
  const running = [];
  const run = async (number, node) => {
    const job = await take(number, node);
    await ask("progress", { job, done: 300 + 397 * running.length, total: 4320 });
    running.push(job);
  };
  let completed;
  const complete = async (number, node, score) => {
    const job = await take(number, node);
    const warnings = score === 95.2 ? ["The distorted clip is 8 bit and the reference 10 bit; both were compared at 10 bit."] : [];
    await ask("complete", { job, score, warnings });
    if (score === 95.2) completed = job;
  };
  // Three failures put the node in quarantine, and leave jobs that wait for their next attempt.
  let retried;
  for (let number = 0; number < 3; number += 1) {
    retried = await take(number, "pool-b-0");
    await ask("fail", { job: retried, reason: "FAILURE_REASON_SCRATCH_FULL", error: "no space left on /scratch: 38.2 GiB are needed and 12.0 GiB are free" });
  }
  for (let number = 3; number < 9; number += 1) await run(number, `pool-a-${number % 2}`);
  const scores = [96.31, 94.87, 91.02, 87.44, 78.9, 63.15, 97.8, 95.2, 93.1, 88.7];
  for (const [index, score] of scores.entries()) await complete(9 + index, `pool-a-${index % 3}`, score);
  const failed = await take(19, "pool-a-0");
  await ask("fail", { job: failed, reason: "FAILURE_REASON_CLIPS_DIFFER", error: "the reference has 4320 frames and the distorted clip 4308: set lengthMismatch to shortest to score the common part" });
  for (const [index, score] of [81.36, 66.02, 98.01].entries()) await complete(20 + index, `pool-a-${index}`, score);
  for (let index = 0; index < 4; index += 1) await run(23 + index, ["pool-a-2", "pool-a-2", "pool-a-0", "pool-a-1"][index]);
  const waiting = await take(27);
  await take(28);

  const user = await visit();
  const { page } = user;
  const picture = async (name, looks = ["light", "dark", "narrow"]) => {
    for (const look of looks) {
      await page.setViewportSize(look === "narrow" ? { width: 390, height: 844 } : { width: 1280, height: 800 });
      await page.emulateMedia({ colorScheme: look === "dark" ? "dark" : "light" });
      await page.mouse.move(640, 790);
      const path = `${PICTURES}${name}-${look}.png`;
      await page.screenshot({ path, fullPage: look === "narrow" });
      const published = README[`${name}-${look}`];
      if (published) {
        await mkdir(here("../../../docs/images"), { recursive: true });
        await copyFile(path, here(`../../../docs/images/${published}`));
      }
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await user.goto("/jobs");
  await page.getByLabel("Token").waitFor();
  await picture("sign-in");
  await user.signIn(await ask("expiring token", { seconds: 3600, subject: "mara@studio.example" }));
  await user.sees("pool-a-1");
  await user.sees("Live");
  await picture("jobs");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await page.getByRole("button", { name: /^Cancel \d+$/ }).click();
  await picture("jobs-cancel", ["light", "dark"]);
  await page.keyboard.press("Escape");
  await user.goto("/jobs?namespace=nobody");
  await user.sees("No job matches this filter");
  await picture("jobs-empty", ["light"]);
  for (const [name, job, text] of [
    ["job-completed", completed, "Provenance"],
    ["job-failed", failed, "What was asked"],
    ["job-retried", retried, "Attempts"],
    ["job-running", running[4], "frames"],
    ["job-waiting", waiting, "slots busy"],
  ]) {
    await user.goto(`/jobs/${job}`);
    await user.sees(text);
    if (name !== "job-waiting") await page.locator(".timeline canvas").waitFor();
    await picture(name);
  }
  await user.goto("/nodes");
  await user.sees("Quarantined");
  await picture("nodes");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await picture("keys", ["light", "dark"]);
  await user.done();
}
