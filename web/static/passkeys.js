// Passkeys: signing in with one, and adding one. The buttons are hidden until this
// script finds that the browser can do it.
const base = document.documentElement.dataset.base; // ends in a slash
const able = window.PublicKeyCredential?.parseCreationOptionsFromJSON && window.PublicKeyCredential?.parseRequestOptionsFromJSON;

async function post(path, body) {
  const isForm = body instanceof URLSearchParams;
  const resp = await fetch(base + path, {
    method: "POST",
    headers: isForm ? {} : { "Content-Type": "application/json" },
    body: isForm ? body : JSON.stringify(body ?? {}),
  });
  if (!resp.ok) {
    const problem = await resp.json().catch(() => ({}));
    throw new Error(problem.detail ?? problem.error ?? "It did not work. Try again.");
  }
  return resp.json();
}

async function signIn() {
  const { publicKey } = await post("login/passkey/begin");
  const credential = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) });
  await post("login/passkey/finish", credential.toJSON());
}

async function add(path, secret) {
  const { publicKey } = await post(`${path}/begin`, secret ? new URLSearchParams({ secret }) : undefined);
  const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) });
  const label = navigator.userAgentData?.platform || "Passkey";
  await post(`${path}/finish`, { label, secret, credential: credential.toJSON() });
}

for (const button of document.querySelectorAll("[data-passkey]")) {
  if (!able) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const words = button.parentElement.querySelector("[data-passkey-error]");
    button.disabled = true;
    words.hidden = true;
    try {
      const { passkey, next, secret } = button.dataset;
      if (passkey === "sign-in") await signIn();
      else await add(passkey === "invitation" ? "invitation/passkey" : "me/passkeys", secret);
      location.assign(next || base);
    } catch (err) {
      if (err.name !== "NotAllowedError") {
        words.textContent = err.message;
        words.hidden = false;
      }
    } finally {
      button.disabled = false;
    }
  });
}
