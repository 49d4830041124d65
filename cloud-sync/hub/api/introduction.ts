/** The rules for all operations, as CommonMark: the description of the API in `/openapi.json`. */
export const INTRODUCTION = `The head office of several sites. Each site has a fleet gateway, which works without the head office and sends it all its data.

- **Keys.** Send your key in \`X-API-Key\`, or as \`Authorization: Bearer\`. A viewer reads the sites in its \`site_ids\`, an operator may also create intents there, an admin sees all sites and administers them. Only \`/health\`, \`/openapi.json\` and \`/docs\` need no key.
- **The same API as a gateway.** Below \`/sites/{site}\` devices, histories, events and trips have the paths, parameters, formats, limits and error codes of the gateway's own API, and the same records give the same trips.
- **Freshness.** While a site is connected, the states of its devices are only seconds old, even if a backlog of older records is still to come. \`/sites\` shows how fresh each site is, how large its backlog is, and how many records its gateway deleted before it could send them.
- **Intents.** Only a gateway changes data of its site. \`POST /sites/{site}/intents\` asks it for a change: the gateway applies the intent once or not at all, and reports the result.
- **Errors** are \`application/problem+json\` (RFC 9457). Branch on \`code\`, show \`detail\`, and look into \`errors\` for each wrong field or parameter. Nothing is stored when a request is refused.
- **Everywhere.** 401 without a good key, 403 outside the scope, 404 for a path or id that does not exist, 429 above the request rate or for failed keys after twenty a minute (wait \`Retry-After\` seconds), 503 while the database does not answer. HEAD answers as GET, without the body. A slash at the end of a path makes no difference.
- **Bodies** are JSON objects. The head office refuses unknown fields and ignores unknown query parameters.
- **Answers** have \`X-Request-Id\`, your own if you sent one. Fields and values may be added with any version: ignore what you do not know.
- **Times** are ISO 8601 in UTC with milliseconds. Speeds are km/h, distances metres, durations seconds, positions degrees of WGS 84, voltages volts.
- **Pages** have \`limit\` and \`offset\`; an offset past the end is an empty page. \`before=\` with the id of the last item goes on from there, which costs less than an offset in a long list.
- **Lists** have \`order=asc\` or \`order=desc\`, and are CSV by \`format=csv\` or \`Accept: text/csv\`: the rows that JSON has, with the names of their fields as header.
- **Parameters** that are lists are repeated (\`?hardware_ids=a&hardware_ids=b\`) or comma-separated (\`?hardware_ids=a,b\`); \`hardware_ids[]=a\` is the same. Another one that is given twice is an error.`
