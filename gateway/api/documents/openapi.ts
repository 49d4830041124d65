import type { OpenAPIHono } from '@hono/zod-openapi'
import { type AccessRules, createOpenApiDocument, type OpenApiDocument } from '#shared/http/openapi.ts'
import { ERROR_CODES } from '#shared/wire/error-codes.ts'
import type { ApiEnv } from '../api-env.ts'
import { TAGS } from '../tags.ts'
import { MQTT_TOPICS, type MqttTopic, REALTIME_MESSAGES, REALTIME_PATH, type RealtimeMessage } from './messages.ts'

/** Description of the API in `/openapi.json`, as CommonMark: the rules that apply to every operation. */
const INTRODUCTION = `The fleet gateway of a golf course: carts and tee boxes report over MQTT, people and programs \
use this API.

- **Keys.** Send your key in \`X-API-Key\`. A user sees the devices in its \`allowed_hardware_ids\`; staff also read \
groups and device types; an admin sees all devices and may change everything; the key of a user with the role metrics \
reads \`GET /metrics\` and gets 403 \`metrics_only\` everywhere else. Browsers sign in with \`POST /sessions\` and \
send a cookie instead: a request that may change data then needs the \`Origin\` of the gateway, and so does \
\`/realtime\`. Only signing in, \`/health\`, \`/openapi.json\`, \`/docs\` and downloads with a token need no key.
- **Errors** are \`application/problem+json\` (RFC 9457). Branch on \`code\`, show \`detail\`, and read \`errors\` for \
each invalid field or parameter. A rejected request stores nothing.
- **Everywhere.** 401 without a valid key, 429 past the request rate or for failed keys after twenty a minute (wait \
\`Retry-After\` seconds), 503 while the gateway cannot store anything. An unknown path is 404 \`not_found\`, a method \
that a path does not have is 405 \`method_not_allowed\` with \`Allow\`. HEAD is GET without the body. A slash at the \
end of a path makes no difference.
- **Bodies** are JSON objects of up to 64 KiB, unless the operation states otherwise, with at most 200,000 values and \
30,000 keys. A body with an unknown field is rejected; unknown query parameters are ignored.
- **Responses** have \`X-Request-Id\`, your own if you sent one. Any version may add fields and values: ignore those \
you do not know.
- **Times** are ISO 8601 in UTC with milliseconds. Speeds are km/h, distances metres, durations seconds, positions \
degrees of WGS 84, voltages volts.
- **Parameters** that are lists are repeated (\`?hardware_ids=a&hardware_ids=b\`) or comma-separated \
(\`?hardware_ids=a,b\`); \`hardware_ids[]=a\` is the same. Repeating any other parameter is an error.
- **Pages** have \`limit\` and \`offset\`; an offset past the end is an empty page. \`before=\` with the id of the \
last item continues from there, which costs less than an offset in a long list.
- **Lists** have \`order=asc\` or \`order=desc\`, and are CSV by \`format=csv\` or \`Accept: text/csv\`: the rows that \
JSON has, with the names of their fields as header.
- **Live** changes come over the WebSocket \`/realtime\`, devices and other programs speak MQTT 3.1.1: \`x-realtime\` \
and \`x-mqtt\` in this document, readable at \`/docs\`.`

export interface GatewayDocument extends OpenApiDocument {
  /** Content that OpenAPI cannot describe: the messages of the WebSocket and the topics of the broker. */
  'x-realtime': { path: string; messages: readonly RealtimeMessage[] }
  'x-mqtt': { topics: readonly MqttTopic[] }
}

export function createGatewayDocument(app: OpenAPIHono<ApiEnv>, doors: AccessRules<ApiEnv>): GatewayDocument {
  const about = {
    title: 'cartbarn',
    description: INTRODUCTION,
    server: 'The gateway',
    tags: TAGS,
    errorCodes: ERROR_CODES,
  }
  return {
    ...createOpenApiDocument(app, doors, about),
    'x-realtime': { path: REALTIME_PATH, messages: REALTIME_MESSAGES },
    'x-mqtt': { topics: MQTT_TOPICS },
  }
}
