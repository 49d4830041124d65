import { CommandError } from '#scripts/cli/command.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import type { PlannedDevice } from './fleet-plan.ts'

/** What a device logs in to the broker with. */
export interface MqttCredentials {
  readonly username: string
  readonly password: string
  readonly client_id: string
}

/** The gateway cannot be used: it does not answer, or refuses. The message is for the person at the terminal. */
export class GatewayError extends CommandError {}

export interface RegistrationOptions {
  /** Without a slash at the end. */
  readonly gatewayUrl: string
  readonly adminKey: string
  readonly signal: AbortSignal
}

const AT_ONCE = 8
const ATTEMPTS = 10
const LONGEST_WAIT_S = 30

/**
 * Registers every device, or gives those already known a new password.
 * Throws `GatewayError` when the gateway does not answer or refuses.
 */
export async function registerDevices(
  devices: readonly PlannedDevice[],
  options: RegistrationOptions,
): Promise<Map<string, MqttCredentials>> {
  const { gatewayUrl: url, adminKey: apiKey, signal } = options
  const client = new ApiClient({ url, apiKey, signal })
  const credentials = new Map<string, MqttCredentials>()
  const waiting = devices.values()
  const worker = async () => {
    for (const device of waiting) credentials.set(device.hardwareId, await register(device, client, options))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return credentials
}

async function register(
  { hardwareId, deviceType, name }: PlannedDevice,
  client: ApiClient,
  options: RegistrationOptions,
): Promise<MqttCredentials> {
  const body = { hardware_id: hardwareId, device_type: deviceType, name }
  try {
    const { mqtt } = await patiently(() => client.call('POST /devices', { body }))
    return mqtt
  } catch (error) {
    if (!isRefusal(error, 409)) throw explained(error, hardwareId, options)
  }
  try {
    const path = { id: hardwareId }
    const { mqtt } = await patiently(() => client.call('POST /devices/{id}/rotate-mqtt-password', { path }))
    return mqtt
  } catch (error) {
    throw explained(error, hardwareId, options)
  }
}

/** When the gateway asks to come back later, waits as long as told. */
async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!isRefusal(error, 429, 503) || attempt === ATTEMPTS) throw error
      const seconds = Math.min(LONGEST_WAIT_S, error.retryAfterS || 1)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    }
  }
}

function isRefusal(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status)
}

/** The same failure for the person at the terminal. */
function explained(error: unknown, hardwareId: string, { gatewayUrl, signal }: RegistrationOptions): unknown {
  if (signal.aborted) return error
  if (!(error instanceof ApiError)) {
    return new GatewayError(`No gateway answers at ${gatewayUrl}: start it with npm start`, { cause: error })
  }
  const { status, code, detail } = error
  if (status === 401 || status === 403) {
    return new GatewayError(`The gateway refuses the key (${code}): it must be an admin's`)
  }
  return new GatewayError(`The gateway refuses to register ${hardwareId}: ${status} ${detail}`)
}
