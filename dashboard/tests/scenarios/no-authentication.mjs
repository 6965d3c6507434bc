import assert from "node:assert/strict";

export default async function ({ submit, visit }) {
  const user = await visit();
  const { page } = user;
  await user.goto("/");
  await page.waitForURL("**/jobs");
  await user.sees("No jobs yet");
  assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
  await submit({ distorted: "/clips/local.mp4" }, {}, null);
  await page.getByRole("link", { name: "local.mp4" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await user.sees("Cancelled");
  assert.deepEqual(await user.context.cookies(), []);
  await user.done();
}
