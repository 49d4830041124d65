/** What holds for every operation, as CommonMark: the description of the API in `/openapi.json`. */
export const INTRODUCTION = `The fleet gateway of a golf course: carts and tee boxes report over MQTT, people and programs ask here.

- **Keys.** Send your key in \`X-API-Key\`. A user sees the devices in its \`allowed_hardware_ids\`; an admin sees all and may change things. Only \`/health\`, \`/openapi.json\`, \`/docs\` and downloads with a token need no key.
- **Errors** are \`application/problem+json\` (RFC 9457). Branch on \`code\`, show \`detail\`, and look into \`errors\` for each wrong field or parameter. Nothing is stored when a request is refused.
- **Everywhere.** 401 without a good key, 429 past the request rate or after twenty failed keys a minute (wait \`Retry-After\` seconds), 503 while nothing can be stored. An unknown path is 404 \`not_found\`, a method a path does not have is 405 \`method_not_allowed\` with \`Allow\`. HEAD is GET without the body. A slash at the end of a path makes no difference.
- **Bodies** are JSON objects of up to 64 KiB, unless an operation says otherwise. Fields that do not exist are refused; query parameters that do not exist are ignored.
- **Answers** have \`X-Request-Id\`, your own if you sent one. Fields and values may be added with any version: ignore what you do not know.
- **Times** are ISO 8601 in UTC with milliseconds. Speeds are km/h, distances metres, durations seconds, positions degrees of WGS 84, voltages volts.
- **Lists** of parameters are repeated (\`?hardware_ids=a&hardware_ids=b\`) or comma-separated (\`?hardware_ids=a,b\`).
- **Live** changes come over the WebSocket \`/realtime\`, devices and other programs speak MQTT 3.1.1: \`x-realtime\` and \`x-mqtt\` in this document, readable at \`/docs\`.`
