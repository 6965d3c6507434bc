import assert from "node:assert/strict";

const live = (state) => document.querySelector(".live")?.getAttribute("data-state") === state;

export default async function ({ tokens, ask, submit, visit }) {
  await submit({ distorted: "/clips/before.mp4" });
  const lists = await visit();
  await lists.signIn(tokens.writer);
  await lists.sees("before.mp4");
  await lists.until(live, "live");
  const nodes = await visit();
  await nodes.signIn(tokens.writer, "/nodes");
  await nodes.sees("No node is connected");

  // What is shown stays, with the reason why it does not change.
  await ask("kill the controller");
  await lists.until(live, "offline");
  await lists.sees("The controller cannot be reached.");
  assert.equal(await lists.page.locator("tbody tr").count(), 1);
  await nodes.sees("The controller cannot be reached.");

  // Changes that nobody saw are there when it is back, and later ones arrive as before.
  await ask("restart the controller");
  await submit({ distorted: "/clips/unseen.mp4" });
  await lists.until(live, "live");
  await lists.sees("unseen.mp4");
  await ask("register", { node: "node-a" });
  await ask("pull", { node: "node-a" });
  await lists.sees("Running");
  assert.equal(await lists.page.getByText("The controller cannot be reached.").count(), 0);
  await nodes.sees("node-a");
  await nodes.sees("before.mp4");
  for (const user of [lists, nodes]) {
    user.expectOutage();
    await user.done();
  }
}
