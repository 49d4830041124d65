/** What holds for every operation, as CommonMark: the description of the API in `/openapi.json`. */
export const INTRODUCTION = `The head office of several sites: each has a fleet gateway, which goes on without us and sends everything it has.

- **Keys.** Send your key in \`X-API-Key\`, or as \`Authorization: Bearer\`. A viewer reads the sites in its \`site_ids\`, an operator also makes intents there, an admin sees all and may change things. Only \`/health\`, \`/openapi.json\` and \`/docs\` need no key.
- **The same as at a gateway.** Below \`/sites/{site}\` devices, histories, events and trips have the paths, parameters, shapes, limits and error codes of the gateway's own API, and the same records give the same trips.
- **Two kinds of new.** States of devices are seconds old while a site is connected, whatever it still has to send. \`/sites\` tells how fresh each site is, what is still to come, and what will never come.
- **Wishes.** Only a gateway changes what is at its site. \`POST /sites/{site}/intents\` asks it to: it does so once or not at all, and tells what became of it.
- **Errors** are \`application/problem+json\` (RFC 9457). Branch on \`code\`, show \`detail\`, and look into \`errors\` for each wrong field or parameter. Nothing is stored when a request is refused.
- **Everywhere.** 401 without a good key, 403 outside the scope, 404 for what exists nowhere, 429 past the request rate or after twenty failed keys a minute (wait \`Retry-After\` seconds), 503 while the database does not answer. HEAD is GET without the body. A slash at the end of a path makes no difference.
- **Bodies** are JSON objects. Fields that do not exist are refused; query parameters that do not exist are ignored.
- **Answers** have \`X-Request-Id\`, your own if you sent one. Fields and values may be added with any version: ignore what you do not know.
- **Times** are ISO 8601 in UTC with milliseconds. Speeds are km/h, distances metres, durations seconds, positions degrees of WGS 84, voltages volts.
- **Lists** of parameters are repeated (\`?hardware_ids=a&hardware_ids=b\`) or comma-separated (\`?hardware_ids=a,b\`).`
