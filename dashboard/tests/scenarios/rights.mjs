import assert from "node:assert/strict";

export default async function ({ tokens, call, submit, visit }) {
  const job = await submit({ distorted: "/clips/secret-project.mp4" });

  const reader = await visit();
  await reader.signIn(tokens.reader);
  await reader.sees("secret-project.mp4");
  await reader.page.getByRole("checkbox", { name: "Select secret-project.mp4" }).check();
  assert.ok(await reader.page.getByRole("button", { name: "Cancel 1" }).isDisabled());
  await reader.page.getByRole("link", { name: "secret-project.mp4" }).click();
  await reader.sees("What was asked");
  for (const name of ["Cancel", "Label", "Set"]) {
    assert.ok(await reader.page.getByRole("button", { name, exact: true }).isDisabled(), name);
  }
  // The controller refuses too, whatever the page shows.
  const status = await reader.page.evaluate(async (path) => {
    const headers = { "x-vmafx-request": "dashboard" };
    return (await fetch(path, { method: "POST", headers, body: "{}" })).status;
  }, `/v1/jobs/${job}/cancel`);
  assert.equal(status, 403);
  reader.expectStatus(403);
  await reader.done();

  const stranger = await visit();
  await stranger.signIn(tokens.stranger);
  await stranger.sees("No jobs yet");
  await submit({ distorted: "/clips/also-secret.mp4" });
  const own = await submit({ distorted: "/clips/own.mp4" }, {}, tokens.stranger);
  await stranger.sees("own.mp4");
  assert.deepEqual(await stranger.page.locator("tbody .row-link").allInnerTexts(), ["own.mp4"]);
  await stranger.goto(`/jobs/${job}`);
  await stranger.sees("This job does not exist");
  stranger.expectStatus(404);
  const { jobs } = await call(tokens.writer, "GET", "/v1/jobs");
  assert.ok(jobs.every(({ id }) => id !== own));
  await stranger.done();
}
