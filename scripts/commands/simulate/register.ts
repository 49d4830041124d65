import { setTimeout as wait } from 'node:timers/promises'
import { CommandError } from '#scripts/cli/command.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import type { PlannedDevice } from './fleet-plan.ts'
import type { SimulateOptions } from './options.ts'

/** What a device logs in to the broker with. */
export interface MqttCredentials {
  readonly username: string
  /** Replaced once, when it is the enrolment key and the device has been sent its own. */
  password: string
  readonly client_id: string
  isEnrolmentKey?: boolean
}

/** The program that registers something. */
export interface Registry {
  readonly name: 'gateway' | 'hub'
  readonly startedWith: string
  readonly url: string
  readonly signal: AbortSignal
}

/** How many requests are made at a time. */
export const AT_ONCE = 8
const ATTEMPTS = 10
const LONGEST_WAIT_S = 30

/**
 * Registers every device, or gives those already known a new password. With an enrolment key, those that are not known
 * are to register themselves. `gatewayUrl` has no slash at the end.
 * Throws `CommandError` when the gateway does not answer or refuses.
 */
export async function registerDevices(
  devices: readonly PlannedDevice[],
  options: Pick<SimulateOptions, 'gatewayUrl' | 'adminKey' | 'enrolmentKey'> & { signal: AbortSignal },
): Promise<Map<string, MqttCredentials>> {
  const { gatewayUrl: url, adminKey: apiKey, enrolmentKey, signal } = options
  const gateway: Registry = { name: 'gateway', startedWith: 'npm start', url, signal }
  const client = new ApiClient({ url, apiKey, signal })
  const credentials = await inParallel(devices, AT_ONCE, async ({ hardwareId, deviceType, name }) => {
    const path = { id: hardwareId }
    const body = { hardware_id: hardwareId, device_type: deviceType, name }
    const renew = () => client.call('POST /devices/{id}/rotate-mqtt-password', { path })
    const enrol = async (password: string) => {
      if (await isFound(client.call('GET /devices/{id}', { path }))) return renew()
      return { mqtt: { username: hardwareId, client_id: hardwareId, password, isEnrolmentKey: true } }
    }
    const { mqtt } = await registered<{ mqtt: MqttCredentials }>(gateway, hardwareId, {
      create: () =>
        enrolmentKey === undefined ? client.call('POST /devices', { body }) : enrol(enrolmentKey),
      renew,
    })
    return [hardwareId, mqtt] as const
  })
  return new Map(credentials)
}

/**
 * What `create` resolves to; what `renew` does where `id` is known already. When the program asks to come back later, waits
 * as long as told. Throws `CommandError` when it does not answer or refuses.
 */
export async function registered<Answer>(
  registry: Registry,
  id: string,
  { create, renew }: { create: () => Promise<Answer>; renew: () => Promise<Answer> },
): Promise<Answer> {
  try {
    return await patiently(create, registry.signal).catch((error: unknown) => {
      if (!isRefusal(error, 409)) throw error
      return patiently(renew, registry.signal)
    })
  } catch (error) {
    throw registry.signal.aborted ? error : explained(error, id, registry)
  }
}

async function patiently<Answer>(call: () => Promise<Answer>, signal: AbortSignal): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!isRefusal(error, 429, 503) || attempt === ATTEMPTS) throw error
      const seconds = Math.min(LONGEST_WAIT_S, error.retryAfterS || 1)
      await wait(seconds * 1000, undefined, { signal })
    }
  }
}

function isFound(answer: Promise<unknown>): Promise<boolean> {
  return answer.then(
    () => true,
    (error: unknown) => {
      if (isRefusal(error, 404)) return false
      throw error
    },
  )
}

function isRefusal(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status)
}

/** The same failure for the person at the terminal. */
function explained(error: unknown, id: string, { name, startedWith, url }: Registry): CommandError {
  if (!(error instanceof ApiError)) {
    return new CommandError(`No ${name} answers at ${url}: start it with ${startedWith}`, { cause: error })
  }
  const { status, code, detail } = error
  if (status === 401 || status === 403) {
    return new CommandError(`The ${name} refuses the key (${code}): it must be an admin's`)
  }
  return new CommandError(`The ${name} refuses to register ${id}: ${status} ${detail}`)
}
