import { FETCH_GEOFENCES_NAME, LOCATE_NAME } from '#devices/commands.ts'
import type { CommandDefinition } from '#devices/device-type.ts'
import { type Caller, canSee } from '#domain/access.ts'
import { LOCK, type UNLOCK } from '#domain/commands.ts'
import type { FairTurns } from '#shared/budgets/fair-turns.ts'
import { ConflictError, ForbiddenError, NotFoundError } from '#shared/errors.ts'
import { hashSecret } from '#shared/ids.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { CommandQuery, CommandRow } from '#store/tables/commands.ts'
import type { IdempotencyKey } from '#store/tables/idempotency-keys.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import type { Cart } from '../cart.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Device, Fleet } from '../fleet.ts'
import type { CommandDelivery } from './delivery.ts'
import { isLock, type LockGate, lockRefused, requireMayForce } from './lock-gate.ts'
import { isFull, type NewCommandDeps, newCommand } from './new-command.ts'
import {
  type CommandRequest,
  type DeviceTypeLookup,
  definitionOf,
  requireDefinition,
  requireFailed,
  requireKnown,
  requireParams,
} from './request.ts'

interface CommandsDeps extends NewCommandDeps {
  store: Pick<Store, 'read' | 'write' | 'health'> & { readers: Pick<Store['readers'], 'run'> }
  fleet: Fleet
  deviceTypes: DeviceTypeLookup
  delivery: CommandDelivery
  turns: FairTurns
  gate: LockGate
  clock: GatewayClock
}

/** Caller of a request for commands, and the data that makes the request idempotent. */
export interface CommandCaller {
  caller: Caller
  /** Returns the caller's current rights when the request is processed; throws if the caller has lost access. */
  callerNow?: () => Caller
  /** Identifies repetitions of a request. */
  idempotencyKey?: string | undefined
  /** Called as soon as the commands are stored, before they are sent or change in any way. */
  onWritten?: (commands: readonly CommandRow[]) => void
  intent?: CommandIntent
  /** Returns a write for the transaction of these commands; if it throws, they are refused. */
  also?: (commands: readonly CommandRow[]) => NamedWrite
}

/** Intent of the hub that a command comes from. */
export interface CommandIntent {
  commandId: string
  /** Expiry of the command, even if its time to live is longer. */
  expiresAtMs: number
  /** Write in the same transaction; if it throws, the command is refused. */
  also: NamedWrite
}

export interface CommandBody<Outcome = null> {
  commands: readonly CommandRow[]
  /** Result of the request in addition to the commands. */
  outcome: Outcome
  /** True if an earlier identical request created the commands. */
  isRepeated: boolean
}

/** Device that must not be locked now. */
export interface RejectedDevice {
  hardwareId: string
  code: string
}

/** Requested cart with the device that will lock it, or the reason why none does. */
export type LockChoice = { cart: string; device: Device; judged: Cart } | { cart: string; code: string }

export type LockResult = { cart: string; commandId: string } | { cart: string; code: string }

/** Locks or unlocks of carts, and the response made from their results. */
export interface CartOrders<Outcome> {
  command: typeof LOCK | typeof UNLOCK
  choices: readonly LockChoice[]
  metadata: CommandRequest['metadata']
  outcomeOf(results: readonly LockResult[]): Outcome
}

/** Caller of the gateway's own position requests, and the time for which a response is useful. */
const SAFE_LOCK: Caller = { userId: 'safe-lock', role: 'admin', allowedHardwareIds: null }
const LOCATE_TTL_S = 15

/** Creates, repeats and lists commands to devices. */
export class Commands {
  readonly #deps: CommandsDeps

  constructor(deps: CommandsDeps) {
    this.#deps = deps
  }

  /** Creates a command. Throws for an invalid request; resolves when the command is stored, not yet executed. */
  async create(device: Device, request: CommandRequest, asking: CommandCaller): Promise<CommandBody> {
    const { hardwareId } = device.row
    return this.#ask(asking, { device: hardwareId, ...request }, () => {
      const caller = asking.callerNow?.() ?? asking.caller
      requireMayForce(caller, request.force)
      requireVisible(caller, hardwareId)
      const definition = requireDefinition(this.#deps.deviceTypes, device.row.deviceType, request.command)
      requireParams(definition, request.params)
      const forced = this.#requireLockable(hardwareId, request, caller)
      return oneOf(newCommand(this.#deps, device, request, definition, { ...asking, forced }))
    })
  }

  /**
   * Creates commands for all devices of a group, in one transaction. Devices whose type does not support the command
   * are skipped, unless `deviceType` names that type; devices that must not be locked now are refused. Throws
   * `device_forbidden` if the caller may not see a device of the group.
   */
  async createForGroup(
    groupId: number,
    request: CommandRequest & { deviceType: string | undefined },
    asking: CommandCaller,
  ): Promise<CommandBody<readonly RejectedDevice[]>> {
    const asked = await this.#ask<readonly RejectedDevice[]>(asking, { group: groupId, ...request }, () => {
      const caller = asking.callerNow?.() ?? asking.caller
      requireMayForce(caller, request.force)
      const definitions = this.#definitionsFor(request)
      const commands: CommandRow[] = []
      const refused: RejectedDevice[] = []
      for (const device of this.#deps.fleet.all()) {
        const { groupId: group, hardwareId, deviceType } = device.row
        if (group !== groupId) continue
        requireVisible(caller, hardwareId)
        const definition = definitions.get(deviceType)
        if (definition === undefined) continue
        const admission = this.#admit(hardwareId, request, caller)
        if ('refusal' in admission) refused.push({ hardwareId, code: admission.refusal })
        else commands.push(newCommand(this.#deps, device, request, definition, { ...asking, ...admission }))
      }
      return { commands, outcome: refused }
    })
    // null: stored by a version that refused no device
    return { ...asked, outcome: asked.outcome ?? [] }
  }

  /**
   * Locks carts, in one transaction. `choose` selects them when the request is processed; if it throws, the request is
   * refused. Carts that cannot be locked now are in the outcome, with a code.
   */
  async lockCarts(
    request: Pick<CommandRequest, 'metadata'> & { carts: unknown },
    choose: (caller: Caller) => Promise<readonly LockChoice[]>,
    asking: CommandCaller,
  ): Promise<CommandBody<readonly LockResult[]>> {
    return this.#ask(asking, request, async () => {
      const caller = asking.callerNow?.() ?? asking.caller
      return this.#ordersOf(LOCK, await choose(caller), request.metadata, asking)
    })
  }

  /** Locks or unlocks carts, in one transaction; `plan` decides as `choose` of `lockCarts` does. */
  async orderCarts<Outcome>(
    request: object,
    plan: (caller: Caller) => CartOrders<Outcome>,
    asking: CommandCaller,
  ): Promise<CommandBody<Outcome>> {
    return this.#ask(asking, request, () => {
      const { command, choices, metadata, outcomeOf } = plan(asking.callerNow?.() ?? asking.caller)
      const { commands, outcome } = this.#ordersOf(command, choices, metadata, asking)
      return { commands, outcome: outcomeOf(outcome) }
    })
  }

  /** Requests positions from these devices, or from others of their carts; locks wait for the response. */
  async locate(hardwareIds: readonly string[]): Promise<void> {
    const asking: CommandCaller = { caller: SAFE_LOCK }
    await this.#ask(asking, {}, () => {
      const commands = hardwareIds.flatMap((hardwareId) => this.#locateOf(hardwareId, asking) ?? [])
      return { commands, outcome: null }
    })
  }

  /**
   * Sends a command of the gateway itself to devices, in one transaction. Skips devices that were removed, whose type
   * does not support the command, or with too many unfinished commands; does not validate parameters against the type.
   */
  async createForEach(
    hardwareIds: readonly string[],
    request: CommandRequest,
    asking: CommandCaller,
  ): Promise<CommandBody> {
    const chosen = { hardwareIds, request, outcome: null }
    return this.createForChosen({ devices: hardwareIds, ...request }, async () => chosen, asking)
  }

  /**
   * Like `createForEach`, for devices that `choose` selects when the request is processed; if it throws, the request is
   * refused. A repetition of `asked` gets the outcome of the first.
   */
  async createForChosen<Outcome>(
    asked: object,
    choose: (caller: Caller) => Promise<{ hardwareIds: readonly string[]; request: CommandRequest; outcome: Outcome }>,
    asking: CommandCaller,
  ): Promise<CommandBody<Outcome>> {
    const { fleet, deviceTypes } = this.#deps
    return this.#ask(asking, asked, async () => {
      const { hardwareIds, request, outcome } = await choose(asking.callerNow?.() ?? asking.caller)
      const commands = hardwareIds.flatMap((hardwareId) => {
        const device = fleet.byHardwareId(hardwareId)
        const definition = device && definitionOf(deviceTypes.find(device.row.deviceType), request.command)
        if (device === undefined || definition === undefined) return []
        if (isFull(this.#deps, hardwareId)) return []
        return [newCommand(this.#deps, device, request, definition, { ...asking, forced: null })]
      })
      return { commands, outcome }
    })
  }

  /** Repeats a failed or timed-out command, with full lifetime. Throws `command_not_finished`, `command_completed`. */
  async retry(command: CommandRow, asking: CommandCaller): Promise<CommandBody> {
    const device = this.#deps.fleet.require(command.hardwareId)
    return this.#ask(asking, { retry: command.commandId }, () => {
      requireFailed(this.#deps.store.read.command(command.commandId) ?? command)
      const { deviceTypes } = this.#deps
      const definition = requireDefinition(deviceTypes, device.row.deviceType, command.command)
      const request: CommandRequest = {
        command: command.command,
        params: command.command === FETCH_GEOFENCES_NAME ? {} : JSON.parse(command.paramsJson),
        metadata: command.metadataJson === null ? null : JSON.parse(command.metadataJson),
        ttlS: command.ttlS,
      }
      requireParams(definition, request.params)
      const caller = asking.callerNow?.() ?? asking.caller
      // evaluated like any other lock: that an earlier one was forced does not justify forcing this one
      const forced = this.#requireLockable(device.row.hardwareId, request, caller)
      const retryOf = command.commandId
      return oneOf(newCommand(this.#deps, device, request, definition, { ...asking, forced, retryOf }))
    })
  }

  /** Returns commands by creation time; null if the command `before` does not exist. */
  list(query: CommandQuery, asker: JobOptions): Promise<CommandRow[] | null> {
    return this.#deps.store.readers.run('commands', query, { ...asker, isShort: true })
  }

  /** Throws `command_not_found`, or `device_forbidden` if its device is outside the scope. */
  requireVisible(caller: Caller, commandId: string): CommandRow {
    const row = this.#deps.store.read.command(commandId)
    if (row === undefined) throw new NotFoundError('command_not_found', `there is no command ${commandId}`)
    requireVisible(caller, row.hardwareId)
    return row
  }

  /**
   * Processes requests one at a time, so that the write finds the state that `build` found, and identical requests find
   * each other. Slots alternate between users. Throws `rate_limited` if too many of the caller's requests wait.
   */
  #ask<Outcome>(
    asking: CommandCaller,
    request: object,
    build: () => Built<Outcome> | Promise<Built<Outcome>>,
  ): Promise<CommandBody<Outcome>> {
    const { turns, delivery } = this.#deps
    const answer = Promise.withResolvers<CommandBody<Outcome>>()
    turns
      .take(asking.caller.userId, async () => {
        await delivery.settleDoubts()
        asking.callerNow?.()
        const key = this.#idempotencyKeyOf(asking, request)
        const earlier = key && this.#repeated<Outcome>(key)
        if (earlier !== undefined) {
          answer.resolve({ ...earlier, isRepeated: true })
          return
        }
        const { commands, outcome } = await build()
        if (commands.length > 0 || key !== undefined || asking.also !== undefined)
          await this.#write(commands, key && { ...key, outcomeJson: JSON.stringify(outcome) }, asking)
        answer.resolve({ commands, outcome, isRepeated: false })
        await delivery.sendNew(commands)
      })
      .catch(answer.reject)
    return answer.promise
  }

  async #write(commands: readonly CommandRow[], key: IdempotencyKey | undefined, asking: CommandCaller): Promise<void> {
    const { store, delivery, clock } = this.#deps
    const idempotencyKey = key === undefined ? null : { ...key, commandIds: commands.map(({ commandId }) => commandId) }
    // queued first, so that no sent command counts as pending
    delivery.mark()
    const askedAtMs = clock.monotonicMs()
    const isTried = store.health.isUsable
    let isGivenUp = false
    try {
      const also = asking.intent?.also ?? asking.also?.(commands)
      const take = (superseded: readonly CommandRow[]) => {
        // a disk that responds late: the caller has already received the failure
        if (isGivenUp) return
        delivery.take(commands, superseded, askedAtMs)
        asking.onWritten?.(commands)
      }
      await store.write('createCommands', { commands, idempotencyKey }, take, also)
    } catch (error) {
      isGivenUp = true
      if (isTried && !(error instanceof NotFoundError))
        delivery.doubt(commands, asking.intent === undefined ? 'withdraw' : 'keep')
      throw error
    }
  }

  #idempotencyKeyOf({ caller, idempotencyKey }: CommandCaller, request: object): IdempotencyKey | undefined {
    if (idempotencyKey === undefined) return undefined
    return {
      userId: caller.userId,
      key: idempotencyKey,
      fingerprint: hashSecret(canonicalJson(request)),
      commandIds: [],
      outcomeJson: null,
      createdAtMs: this.#deps.clock.nowMs(),
    }
  }

  /** Returns the result of an earlier identical request. Throws `idempotency_key_reused` if the request differs. */
  #repeated<Outcome>({ userId, key, fingerprint, createdAtMs }: IdempotencyKey): Built<Outcome> | undefined {
    const { read } = this.#deps.store
    const known = read.idempotencyKey(userId, key, createdAtMs)
    if (known === undefined) return undefined
    if (known.fingerprint !== fingerprint) {
      const message = 'this Idempotency-Key was used for another request'
      throw new ConflictError('idempotency_key_reused', message)
    }
    return {
      commands: known.commandIds.flatMap((commandId) => read.command(commandId) ?? []),
      // the fingerprint matches, so the outcome has this type
      outcome: JSON.parse(known.outcomeJson ?? 'null') as Outcome,
    }
  }

  #definitionsFor(request: CommandRequest & { deviceType: string | undefined }) {
    const { deviceTypes } = this.#deps
    const { command, params, deviceType } = request
    const definitions = new Map<string, CommandDefinition>()
    if (deviceType !== undefined) {
      deviceTypes.requireKnown(deviceType, 'body')
      definitions.set(deviceType, requireDefinition(deviceTypes, deviceType, command))
    } else {
      requireKnown(deviceTypes, command)
      for (const type of deviceTypes.all()) {
        const definition = definitionOf(type, command)
        if (definition !== undefined) definitions.set(type.name, definition)
      }
    }
    for (const definition of definitions.values()) requireParams(definition, params)
    return definitions
  }

  #admit(hardwareId: string, request: CommandRequest, caller: Caller) {
    return isLock(request) ? this.#deps.gate.admit(hardwareId, request, caller) : { forced: null }
  }

  /** Throws `cart_is_moving` or `admin_required` for a lock that must not be sent now. */
  #requireLockable(hardwareId: string, request: CommandRequest, caller: Caller): CommandRow['forced'] {
    const admission = this.#admit(hardwareId, request, caller)
    if ('refusal' in admission) throw lockRefused(admission.refusal, hardwareId)
    return admission.forced
  }

  #ordersOf(
    command: CartOrders<unknown>['command'],
    choices: readonly LockChoice[],
    metadata: CommandRequest['metadata'],
    asking: CommandCaller,
  ): Built<LockResult[]> {
    const commands: CommandRow[] = []
    const outcome = choices.map((choice): LockResult => {
      if ('code' in choice) return choice
      const made = this.#orderOf(command, choice, metadata, asking)
      if ('code' in made) return { cart: choice.cart, code: made.code }
      commands.push(made)
      return { cart: choice.cart, commandId: made.commandId }
    })
    return { commands, outcome }
  }

  /** Builds the command of one cart among many; a refusal does not affect the others. */
  #orderOf(
    command: CartOrders<unknown>['command'],
    { device, judged }: Extract<LockChoice, { device: Device }>,
    metadata: CommandRequest['metadata'],
    asking: CommandCaller,
  ): CommandRow | { code: string } {
    const { deviceTypes, gate } = this.#deps
    const { hardwareId, deviceType } = device.row
    const definition = definitionOf(deviceTypes.find(deviceType), command)
    if (definition === undefined) return { code: 'unsupported_command' }
    const request: CommandRequest = { command, params: {}, metadata, ttlS: undefined }
    const admission = command === LOCK ? gate.admit(hardwareId, request, asking.caller, judged) : { forced: null }
    if ('refusal' in admission) return { code: admission.refusal }
    if (isFull(this.#deps, hardwareId)) return { code: 'too_many_commands' }
    return newCommand(this.#deps, device, request, definition, { ...asking, ...admission })
  }

  #locateOf(hardwareId: string, asking: CommandCaller): CommandRow | undefined {
    const { deviceTypes, gate, delivery } = this.#deps
    for (const device of gate.locatorsOf(hardwareId)) {
      const definition = definitionOf(deviceTypes.find(device.row.deviceType), LOCATE_NAME)
      if (definition === undefined || isFull(this.#deps, device.row.hardwareId)) continue
      // already requested before a restart, or for another lock
      if (delivery.isAsked(device.row.hardwareId, LOCATE_NAME, SAFE_LOCK.userId)) return undefined
      const request = { command: LOCATE_NAME, params: {}, metadata: null, ttlS: LOCATE_TTL_S }
      return newCommand(this.#deps, device, request, definition, { ...asking, forced: null })
    }
    return undefined
  }
}

/** Commands to store, and the rest of the response. */
interface Built<Outcome> {
  commands: readonly CommandRow[]
  outcome: Outcome
}

function oneOf(command: CommandRow): Built<null> {
  return { commands: [command], outcome: null }
}

function requireVisible(caller: Caller, hardwareId: string): void {
  if (!canSee(caller, hardwareId))
    throw new ForbiddenError('device_forbidden', `device ${hardwareId} is outside your scope`)
}

/** Returns the same text for equal values, whatever the order of their keys. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, nested: unknown) =>
    typeof nested === 'object' && nested !== null && !Array.isArray(nested)
      ? Object.fromEntries(Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)))
      : nested,
  )
}
