import { setTimeout as wait } from 'node:timers/promises'
import { CommandError } from '#scripts/cli/command.ts'
import { ApiClient, ApiError } from '#shared/client.ts'
import { inParallel } from '#shared/in-parallel.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { chooseCarts } from './cart-numbers.ts'
import type { PlannedDevice } from './fleet-plan.ts'
import type { SimulateOptions } from './options.ts'

/** What a device logs in to the broker with. */
export interface MqttCredentials {
  readonly username: string
  /** Replaced once, when it is the enrolment key and the device has been sent its own. */
  password: string
  readonly client_id: string
  isEnrolmentKey?: boolean
  /** The cart it says it is in, when it enrols. */
  readonly cart?: string | null
}

/** The program that registers something. */
export interface Registry {
  readonly name: 'gateway' | 'hub'
  readonly startedWith: string
  readonly url: string
  readonly signal: AbortSignal
}

type RegisteredDevice = AnswerOf<'GET /devices'>['devices'][number]

/** How many requests are made at a time. */
export const AT_ONCE = 8
const ATTEMPTS = 10
const LONGEST_WAIT_S = 30
/** The most devices that a gateway lists at once. */
const PAGE = 1000

/**
 * Registers every device with its cart, or gives those already known a new password, and the cart where they have none.
 * With an enrolment key, those that are not known are to register themselves. Numbers of carts that are there are not
 * touched. `gatewayUrl` has no slash at the end. Throws `CommandError` when the gateway does not answer or refuses.
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

/** All devices of a gateway. */
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
 * What `create` resolves to; what `renew` does where `id` is known already. When the program asks to come back later,
 * waits as long as told. Throws `CommandError` when it does not answer or refuses.
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

/** What a call resolves to, with the patience and the errors of `registered`; `what` it does, for people. */
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

/** The same failure for the person at the terminal. */
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
