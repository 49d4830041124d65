import { z } from 'zod'
import type { PlannedDevice } from './fleet-plan.ts'

/** What a device logs in to the broker with. */
export interface MqttCredentials {
  readonly username: string
  readonly password: string
  readonly client_id: string
}

/** The gateway cannot be used: it does not answer, or refuses. The message is for the person at the terminal. */
export class GatewayError extends Error {}

export interface RegistrationOptions {
  /** Without a slash at the end. */
  readonly gatewayUrl: string
  readonly adminKey: string
  readonly signal: AbortSignal
}

const AT_ONCE = 8
const ATTEMPTS = 10
const LONGEST_WAIT_S = 30

const credentialsSchema = z.object({ username: z.string(), password: z.string(), client_id: z.string() })
const answerSchema = z.union([z.object({ mqtt: credentialsSchema }), credentialsSchema])
const problemSchema = z.looseObject({ code: z.string().optional(), detail: z.string().optional() })

/**
 * Registers every device, or gives those already known a new password.
 * Throws `GatewayError` when the gateway does not answer or refuses.
 */
export async function registerDevices(
  devices: readonly PlannedDevice[],
  options: RegistrationOptions,
): Promise<Map<string, MqttCredentials>> {
  const credentials = new Map<string, MqttCredentials>()
  const waiting = devices.values()
  const worker = async () => {
    for (const device of waiting) credentials.set(device.hardwareId, await register(device, options))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return credentials
}

async function register(device: PlannedDevice, options: RegistrationOptions): Promise<MqttCredentials> {
  const { hardwareId, deviceType, name } = device
  const created = await post('/devices', { hardware_id: hardwareId, device_type: deviceType, name }, options)
  const answer =
    created.status === 409
      ? await post(`/devices/${hardwareId}/rotate-mqtt-password`, undefined, options)
      : created
  if (answer.status !== 200 && answer.status !== 201) throw refusal(hardwareId, answer)
  const parsed = answerSchema.safeParse(answer.body)
  if (!parsed.success)
    throw new GatewayError(`The gateway's answer for ${hardwareId} has no MQTT credentials`)
  return 'mqtt' in parsed.data ? parsed.data.mqtt : parsed.data
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Posts; when the gateway asks to come back later it waits as long as told. */
async function post(path: string, body: unknown, options: RegistrationOptions): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(path, body, options)
    const text = await response.text()
    if ((response.status !== 429 && response.status !== 503) || attempt === ATTEMPTS) {
      return { status: response.status, body: parseJson(text) }
    }
    const seconds = Math.min(LONGEST_WAIT_S, Number(response.headers.get('retry-after') ?? '1') || 1)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  }
}

async function send(path: string, body: unknown, options: RegistrationOptions): Promise<Response> {
  const { gatewayUrl, adminKey, signal } = options
  try {
    return await fetch(`${gatewayUrl}${path}`, {
      method: 'POST',
      headers: { 'X-API-Key': adminKey, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new GatewayError(`No gateway answers at ${gatewayUrl}: start it with npm start`, { cause: error })
  }
}

function refusal(hardwareId: string, answer: Answer): GatewayError {
  const problem = problemSchema.safeParse(answer.body).data
  if (answer.status === 401 || answer.status === 403) {
    return new GatewayError(
      `The gateway refuses the key (${problem?.code ?? answer.status}): it must be an admin's`,
    )
  }
  return new GatewayError(
    `The gateway refuses to register ${hardwareId}: ${answer.status} ${problem?.detail ?? problem?.code ?? ''}`.trim(),
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
