// Signing in with a token.

import { useId, useState } from "preact/hooks";
import { ApiError, api } from "./api";
import { Logo } from "./icons";
import { Problem, useTitle } from "./parts";
import { navigate, returnPath, useLocation } from "./router";
import type { Session } from "./types";

export function SignInPage({ session, signedIn }: { session: Session; signedIn: (session: Session) => void }) {
  const { query } = useLocation();
  const [token, setToken] = useState("");
  const [error, setError] = useState<ApiError>();
  const [busy, setBusy] = useState(false);
  const id = useId();
  useTitle("Sign in");

  const enter = (next: Session) => {
    navigate(returnPath(query), { replace: true });
    signedIn(next);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const next = await api.signIn(token);
      setToken("");
      enter(next);
    } catch (problem) {
      const refused = problem instanceof ApiError ? problem : new ApiError(0, String(problem));
      const text = "This token is not valid here. It may have expired, or be of another installation.";
      setError(refused.status === 401 ? new ApiError(401, text) : refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in">
      <h1>
        <Logo />
        VMAFX
      </h1>
      {session.caller ? (
        <div class="card">
          <p>
            You are signed in as <strong>{session.caller.subject}</strong>.
          </p>
          <div class="actions">
            <button type="button" class="primary" onClick={() => enter(session)}>
              Continue
            </button>
          </div>
        </div>
      ) : (
        <form class="card" onSubmit={submit}>
          <h2>Sign in</h2>
          {query.has("return") && <p class="hint">You return to where you were.</p>}
          <label for={id}>Token</label>
          <input
            id={id}
            type="password"
            name="token"
            autocomplete="off"
            spellcheck={false}
            required
            autofocus
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
          <p class="hint">
            Any token that the API accepts. On a cluster: <code>kubectl create token ACCOUNT --audience vmafx-controller</code>. It
            is kept in a cookie that scripts cannot read, until it expires or you sign out.
          </p>
          {error && <Problem error={error} />}
          <div class="actions">
            <button type="submit" class="primary" disabled={busy || token.trim() === ""}>
              Sign in
            </button>
          </div>
        </form>
      )}
    </main>
  );
}
