import assert from "node:assert/strict";

export default async function ({ tokens, ask, visit }) {
  const user = await visit();
  const { page } = user;
  await user.goto("/jobs?status=running");
  await page.waitForURL("**/sign-in?return=*");
  await page.getByLabel("Token").fill("wrong-0123456789abcdef");
  await page.getByRole("button", { name: "Sign in" }).click();
  await user.sees("This token is not valid here");
  user.expectStatus(401);
  assert.deepEqual(await user.context.cookies(), []);

  await page.getByLabel("Token").fill(tokens.reader);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/jobs?status=running");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  const [cookie] = await user.context.cookies();
  assert.equal(cookie.name, "vmafx_session");
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Strict");
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage })), "{}");

  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  assert.deepEqual(await user.context.cookies(), []);

  // A link that returns to another site returns to the jobs instead.
  for (const elsewhere of ["https://evil.example/jobs", "//evil.example/jobs", "javascript:alert(1)", "/\\evil.example"]) {
    await user.signIn(tokens.reader, `/sign-in?return=${encodeURIComponent(elsewhere)}`);
    await page.waitForURL("**/jobs");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
  }

  // A token that is removed while the page is open ends the session, and another one continues where the user was.
  await user.signIn(tokens.reader, "/nodes");
  await user.sees("No node is connected");
  await ask("tokens", { tokens: `tokens:\n- {token: ${tokens.writer}, tenant: acme, roles: ['vmafx:writer']}\n` });
  await page.waitForURL("**/sign-in?return=%2Fnodes");
  user.expectStatus(401);
  await page.getByLabel("Token").fill(tokens.writer);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/nodes");
  await user.done();

  // So does the end of a token that expires, without a call.
  const guest = await visit();
  await guest.signIn(await ask("expiring token", { seconds: 5, subject: "guest" }), "/jobs?namespace=studio");
  const [session] = await guest.context.cookies();
  assert.ok(session.expires > 0 && session.expires < Date.now() / 1000 + 6);
  await guest.page.waitForURL("**/sign-in?return=*");
  await guest.page.getByLabel("Token").fill(tokens.writer);
  await guest.page.getByRole("button", { name: "Sign in" }).click();
  await guest.page.waitForURL("**/jobs?namespace=studio");
  await guest.done();
}
