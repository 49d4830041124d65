import type { OpenAPIHono } from '@hono/zod-openapi'
import { createOpenApiDocument, type Doors, type OpenApiDocument } from '#shared/http/openapi.ts'
import { ERROR_CODES } from '#shared/wire/error-codes.ts'
import type { ApiEnv } from '../api-env.ts'
import { TAGS } from '../tags.ts'
import { INTRODUCTION } from './introduction.ts'
import {
  MQTT_TOPICS,
  type MqttTopic,
  REALTIME_MESSAGES,
  REALTIME_PATH,
  type RealtimeMessage,
} from './messages.ts'

export interface GatewayDocument extends OpenApiDocument {
  /** What OpenAPI cannot describe: the messages of the WebSocket, and the topics of the broker. */
  'x-realtime': { path: string; messages: readonly RealtimeMessage[] }
  'x-mqtt': { topics: readonly MqttTopic[] }
}

/** The OpenAPI 3.1 document of the gateway. */
export function createGatewayDocument(app: OpenAPIHono<ApiEnv>, doors: Doors<ApiEnv>): GatewayDocument {
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
