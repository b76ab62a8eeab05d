// Writes deliveries.json: deliveries signed by implementations of Standard
// Webhooks in another language, for interop_test.go. Run it again after adding
// a case:
//
//	npm install --ignore-scripts && node generate.mjs > deliveries.json
//
// The result is kept, so that the tests need neither node nor the network.
import { createHmac } from "node:crypto";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const secrets = [
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
  "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
];

const bodies = [
  '{"recording_id":42,"title":"Weekly","transcript":[{"text":"Hello"}]}',
  '{"recording_id":43,"title":"Gr\u00fc\u00dfe, \u4f1a\u8b70 \ud83d\ude80","transcript":null}',
  ' {\n\t"recording_id" : 44 ,\r\n "title":"\\u0000 \\ud83d" }\n',
  JSON.stringify({ recording_id: 45, transcript: Array.from({ length: 600 }, (_, n) => ({ text: `entry ${n}`, timestamp: "00:00:01" })) }),
  "",
];

// The specification by hand, with what node itself brings.
class Plain {
  constructor(secret) {
    this.key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  }
  sign(id, at, body) {
    const seconds = Math.floor(at.getTime() / 1000);
    return "v1," + createHmac("sha256", this.key).update(`${id}.${seconds}.${body}`).digest("base64");
  }
}

const out = [];
for (const [library, Signer] of [["standardwebhooks", Standard], ["svix", Svix], ["node:crypto", Plain]]) {
  for (const secret of secrets) {
    bodies.forEach((body, n) => {
      const at = new Date(Date.UTC(2026, 1, 28, 8, 0, n));
      const id = `msg_${library.replace(/\W/g, "")}_${n}`;
      const signature = new Signer(secret).sign(id, at, body);
      out.push({ library, secret, id, timestamp: Math.floor(at.getTime() / 1000), signature, body });
    });
  }
}
process.stdout.write(JSON.stringify(out, null, 1) + "\n");
