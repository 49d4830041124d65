import { isNestedTooDeep } from '#shared/json-body.ts'
import { type ClientMessage, clientMessageSchema, type ServerMessage } from '#shared/wire/realtime.ts'

export type ErrorMessage = Extract<ServerMessage, { type: 'error' }>

/** Returns the checked message, or the error to send back. */
export function parseMessage(text: string): ClientMessage | ErrorMessage {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { type: 'error', code: 'invalid_json', message: 'the message is not valid JSON' }
  }
  if (isNestedTooDeep(value))
    return { type: 'error', code: 'invalid_message', message: 'the message is nested too deep' }
  const parsed = clientMessageSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const message =
    issue?.path[0] === undefined || issue.path[0] === 'type'
      ? 'unknown type of message'
      : `${issue.path.join('.')} ${issue.message}`
  return { type: 'error', code: 'invalid_message', message, ...echoId(value) }
}

/** Returns the id by which a client matches the response to its message. */
export function echoId(value: unknown): { id?: string | number } {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined
  return typeof id === 'string' || typeof id === 'number' ? { id } : {}
}
