// A real OpenID provider for tests: node provider.mjs MODULE CLIENT_ID CLIENT_SECRET
// REDIRECT_URI. It prints its issuer. POST /test/person sets who sits in front of the
// browser, as {"sub": …, claims…}; null for nobody, whom the provider then does not
// know any more. POST /test/keys makes it sign with a new key.
import { createServer } from 'node:http';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';

const [module, clientID, clientSecret, redirectURI] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(module));

let person = null;
let provider;
let key = newKey();

function newKey() {
  const made = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  return { ...made, kid: randomUUID(), use: 'sig', alg: 'RS256' };
}

function makeProvider(issuer) {
  const p = new Provider(issuer, {
    clients: [{ client_id: clientID, client_secret: clientSecret, redirect_uris: [redirectURI] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    conformIdTokenClaims: process.env.CLAIMS_IN === 'userinfo',
    pkce: { required: () => true, methods: ['S256'] },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [key] },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => person && person.sub === sub
      ? { accountId: sub, claims: () => person } : undefined,
  });
  p.on('server_error', (_, err) => console.error(err));
  return p;
}

// finish answers the provider's question for the person, without asking anybody.
async function finish(req, res) {
  const { prompt, params, grantId } = await provider.interactionDetails(req, res);
  if (!person) {
    return provider.interactionFinished(req, res, { error: 'access_denied' });
  }
  if (prompt.name === 'login') {
    return provider.interactionFinished(req, res, { login: { accountId: person.sub } });
  }
  const grant = grantId ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: person.sub, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } });
}

const server = createServer(async (req, res) => {
  try {
    if (req.url.startsWith('/interaction/')) {
      return await finish(req, res);
    }
    if (req.url === '/test/person') {
      let body = '';
      for await (const chunk of req) body += chunk;
      person = JSON.parse(body);
      if (!person) provider = makeProvider(issuer); // its sessions end
      return res.end();
    }
    if (req.url === '/test/keys') {
      key = newKey();
      provider = makeProvider(issuer);
      return res.end();
    }
    return provider.callback()(req, res);
  } catch (err) {
    console.error(err);
    res.statusCode = 500;
    res.end(String(err));
  }
});

let issuer;
server.listen(0, '127.0.0.1', () => {
  issuer = `http://127.0.0.1:${server.address().port}`;
  provider = makeProvider(issuer);
  console.log(issuer);
});
