import { setTimeout as wait } from 'node:timers/promises'
import { CommandError } from '#scripts/cli/command.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { chooseCarts } from './cart-numbers.ts'
import type { PlannedDevice } from './fleet-plan.ts'
import type { SimulateOptions } from './options.ts'

export interface MqttCredentials {
  readonly username: string
  /** Replaced once, if it is the enrolment key and the device has received its own. */
  password: string
  readonly client_id: string
  isEnrolmentKey?: boolean
  /** Cart that it reports when it enrols. */
  readonly cart?: string | null
}

/** Program at which objects are registered. */
export interface Registry {
  readonly name: 'gateway' | 'hub'
  readonly startedWith: string
  readonly url: string
  readonly signal: AbortSignal
}

type RegisteredDevice = AnswerOf<'GET /devices'>['devices'][number]

/** Number of concurrent requests. */
export const AT_ONCE = 8
const ATTEMPTS = 10
const LONGEST_WAIT_S = 30
/** Maximum number of devices that a gateway returns in one list. */
const PAGE = 1000

/**
 * Registers every device with its cart, or gives known ones a new password, and the cart if they have none. With an
 * enrolment key, unknown devices register themselves later. Existing numbers of carts are not changed. `gatewayUrl` has
 * no slash at the end. Throws `CommandError` if the gateway does not respond or refuses.
 */
export async function registerDevices(
  devices: readonly PlannedDevice[],
  options: Pick<SimulateOptions, 'gatewayUrl' | 'adminKey' | 'enrolmentKey' | 'prefix'> & {
    signal: AbortSignal
  },
): Promise<Map<string, MqttCredentials>> {
  const { gatewayUrl: url, adminKey: apiKey, enrolmentKey, prefix, signal } = options
  const gateway: Registry = { name: 'gateway', startedWith: typedCommand('run'), url, signal }
  const client = new ApiClient({ url, apiKey, signal })
  const known = await asked(gateway, 'list devices', () => listDevices(client))
  const carts = chooseCarts(devices, known, prefix)
  const credentials = await inParallel(devices, AT_ONCE, async (device) => {
    const { hardwareId } = device
    const cart = carts.get(hardwareId) ?? null
    const path = { id: hardwareId }
    const body = { hardware_id: hardwareId, device_type: device.deviceType, name: device.name, cart }
    const before = known.find(({ hardware_id }) => hardware_id === hardwareId)
    const renew = async () => {
      if (before !== undefined && before.cart !== cart)
        await client.call('PATCH /devices/{id}', { path, body: { cart } })
      return client.call('POST /devices/{id}/rotate-mqtt-password', { path })
    }
    const enrol = async (password: string) => {
      if (before !== undefined) return renew()
      return { mqtt: { username: hardwareId, client_id: hardwareId, password, isEnrolmentKey: true, cart } }
    }
    const { mqtt } = await registered<{ mqtt: MqttCredentials }>(gateway, hardwareId, {
      create: () => (enrolmentKey === undefined ? client.call('POST /devices', { body }) : enrol(enrolmentKey)),
      renew,
    })
    return [hardwareId, mqtt] as const
  })
  return new Map(credentials)
}

export async function listDevices(client: ApiClient): Promise<RegisteredDevice[]> {
  const all: RegisteredDevice[] = []
  for (;;) {
    const query = { limit: PAGE, offset: all.length }
    const { devices } = await client.call('GET /devices', { query })
    all.push(...devices)
    if (devices.length < PAGE) return all
  }
}

/**
 * Returns the result of `create`, or that of `renew` if `id` is already known. If the program asks to retry later,
 * waits as long as requested. Throws `CommandError` if it does not respond or refuses.
 */
export function registered<Answer>(
  registry: Registry,
  id: string,
  { create, renew }: { create: () => Promise<Answer>; renew: () => Promise<Answer> },
): Promise<Answer> {
  return asked(registry, `register ${id}`, () =>
    create().catch((error: unknown) => {
      if (!isRefusal(error, 409)) throw error
      return patiently(renew, registry.signal)
    }),
  )
}

/** Returns the result of a call, with retries and errors of `registered`; `what` describes the call for the user. */
export async function asked<Answer>(registry: Registry, what: string, call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await patiently(call, registry.signal)
  } catch (error) {
    throw registry.signal.aborted ? error : explained(error, what, registry)
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

function isRefusal(error: unknown, ...statuses: number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status)
}

/** Turns the failure into a message for the user at the terminal. */
function explained(error: unknown, what: string, { name, startedWith, url }: Registry): CommandError {
  if (!(error instanceof ApiError)) {
    return new CommandError(`No ${name} answers at ${url}: start it with ${startedWith}`, { cause: error })
  }
  const { status, code, detail } = error
  if (status === 401 || status === 403) {
    return new CommandError(`The ${name} refuses the key (${code}): it must be an admin's`)
  }
  return new CommandError(`The ${name} refuses to ${what}: ${status} ${detail}`)
}
