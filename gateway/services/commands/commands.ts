import { FETCH_GEOFENCES_NAME } from '#devices/commands.ts'
import type { CommandDefinition } from '#devices/device-type.ts'
import { type Caller, canSee } from '#domain/access.ts'
import { NEW_COMMAND } from '#domain/commands.ts'
import type { FairTurns } from '#shared/budgets/fair-turns.ts'
import { ConflictError, ForbiddenError, NotFoundError } from '#shared/errors.ts'
import { hashSecret, newUuid } from '#shared/ids.ts'
import type { GeofenceFetchJson } from '#shared/wire/geofences.ts'
import type { CommandQuery, CommandRow } from '#store/commands.ts'
import type { IdempotencyKey } from '#store/idempotency-keys.ts'
import type { JobOptions } from '#store/readers/pool.ts'
import type { Store } from '#store/store.ts'
import type { NamedWrite } from '#store/writer/writes.ts'
import type { GatewayClock } from '../clock/gateway-clock.ts'
import type { Device, Fleet } from '../fleet.ts'
import type { CommandDelivery } from './delivery.ts'
import {
  type CommandRequest,
  type DeviceTypeLookup,
  definitionOf,
  requireDefinition,
  requireKnown,
  requireParams,
} from './request.ts'

interface CommandsDeps {
  store: Pick<Store, 'read' | 'write' | 'health'> & { readers: Pick<Store['readers'], 'run'> }
  fleet: Fleet
  deviceTypes: DeviceTypeLookup
  delivery: CommandDelivery
  turns: FairTurns
  /** Where a device gets its zones from. Throws `no_group`. */
  downloadFor: (device: Device, caller: Caller) => GeofenceFetchJson
  clock: GatewayClock
}

/** The caller of a request for commands, and what makes the request idempotent. */
export interface Asking {
  caller: Caller
  /** What it may do when its turn comes: throws when it is not let in any more. */
  callerNow?: () => Caller
  /** The same key means the same request. */
  idempotencyKey?: string | undefined
  /** Called as soon as the commands are stored, before they are sent or change in any way. */
  onWritten?: (commands: readonly CommandRow[]) => void
  intent?: CommandIntent
}

/** The intent of the head office that a command comes from. */
export interface CommandIntent {
  commandId: string
  /** The command expires then, even if its time to live is longer. */
  expiresAtMs: number
  /** Written in the same transaction, or refuses it. */
  also: NamedWrite
}

export interface Asked {
  commands: readonly CommandRow[]
  /** They were there already, created by the same request. */
  isRepeated: boolean
}

/** Commands a device may have waiting: more is a mistake of the client. */
const MAX_UNFINISHED = 1000

/** Tells devices what to do, and knows what became of it. */
export class Commands {
  readonly #deps: CommandsDeps

  constructor(deps: CommandsDeps) {
    this.#deps = deps
  }

  /** Throws what is wrong with the request; the command is written down when this resolves, not yet obeyed. */
  async create(device: Device, request: CommandRequest, asking: Asking): Promise<Asked> {
    const { hardwareId } = device.row
    return this.#ask(asking, { device: hardwareId, ...request }, () => {
      requireVisible(asking.callerNow?.() ?? asking.caller, hardwareId)
      const definition = requireDefinition(this.#deps.deviceTypes, device.row.deviceType, request.command)
      requireParams(definition, request.params)
      return [this.#newCommand(device, request, definition, asking, null)]
    })
  }

  /**
   * Creates commands for all devices of a group, in one transaction; devices whose type does not know the command are
   * left out, unless
   * `deviceType` names that kind. Throws `device_forbidden` when the caller may not see one of the group.
   */
  async createForGroup(
    groupId: number,
    request: CommandRequest & { deviceType: string | undefined },
    asking: Asking,
  ): Promise<Asked> {
    return this.#ask(asking, { group: groupId, ...request }, () => {
      const definitions = this.#definitionsFor(request)
      return this.#deps.fleet.all().flatMap((device) => {
        if (device.row.groupId !== groupId) return []
        requireVisible(asking.callerNow?.() ?? asking.caller, device.row.hardwareId)
        const definition = definitions.get(device.row.deviceType)
        if (definition === undefined) return []
        return [this.#newCommand(device, request, definition, asking, null)]
      })
    })
  }

  /**
   * Asks for the same again; the time it has begins anew. Throws `command_not_finished` and `command_completed` unless
   * the command failed or nobody answered in time.
   */
  async retry(command: CommandRow, asking: Asking): Promise<Asked> {
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
      return [this.#newCommand(device, request, definition, asking, command.commandId)]
    })
  }

  /** By the time they were made; null when there is no command `before`. */
  list(query: CommandQuery, asker: JobOptions): Promise<CommandRow[] | null> {
    return this.#deps.store.readers.run('commands', query, { ...asker, isShort: true })
  }

  /** Throws `command_not_found`, or `device_forbidden` when its device is outside the scope. */
  requireVisible(caller: Caller, commandId: string): CommandRow {
    const row = this.#deps.store.read.command(commandId)
    if (row === undefined) throw new NotFoundError('command_not_found', `there is no command ${commandId}`)
    requireVisible(caller, row.hardwareId)
    return row
  }

  /**
   * Does one request after the other: what `build` finds is what the write finds, and twins see each other. Users take
   * turns. Throws `rate_limited` when too many of the caller's wait already.
   */
  #ask(asking: Asking, request: object, build: () => CommandRow[]): Promise<Asked> {
    const { turns, delivery } = this.#deps
    const answer = Promise.withResolvers<Asked>()
    turns
      .take(asking.caller.userId, async () => {
        await delivery.settleDoubts()
        asking.callerNow?.()
        const key = this.#idempotencyKeyOf(asking, request)
        const earlier = key && this.#repeated(key)
        if (earlier !== undefined) {
          answer.resolve({ commands: earlier, isRepeated: true })
          return
        }
        const commands = build()
        await this.#write(commands, key, asking)
        answer.resolve({ commands, isRepeated: false })
        await delivery.sendNew(commands)
      })
      .catch(answer.reject)
    return answer.promise
  }

  async #write(
    commands: readonly CommandRow[],
    key: IdempotencyKey | undefined,
    asking: Asking,
  ): Promise<void> {
    const { store, delivery, clock } = this.#deps
    const idempotencyKey =
      key === undefined ? null : { ...key, commandIds: commands.map(({ commandId }) => commandId) }
    // first in the queue, so that none that was sent counts as pending
    delivery.mark()
    const askedAtMs = clock.monotonicMs()
    const isTried = store.health.isUsable
    let isGivenUp = false
    try {
      const take = (superseded: readonly CommandRow[]) => {
        // a disk that answers after all: the caller was told that it did not
        if (isGivenUp) return
        delivery.take(commands, superseded, askedAtMs)
        asking.onWritten?.(commands)
      }
      await store.write('createCommands', { commands, idempotencyKey }, take, asking.intent?.also)
    } catch (error) {
      isGivenUp = true
      if (isTried && !(error instanceof NotFoundError))
        delivery.doubt(commands, asking.intent === undefined ? 'withdraw' : 'keep')
      throw error
    }
  }

  #idempotencyKeyOf({ caller, idempotencyKey }: Asking, request: object): IdempotencyKey | undefined {
    if (idempotencyKey === undefined) return undefined
    return {
      userId: caller.userId,
      key: idempotencyKey,
      fingerprint: hashSecret(canonicalJson(request)),
      commandIds: [],
      createdAtMs: this.#deps.clock.nowMs(),
    }
  }

  /** What the same request created. Throws `idempotency_key_reused` when it was another one. */
  #repeated({ userId, key, fingerprint, createdAtMs }: IdempotencyKey): CommandRow[] | undefined {
    const { read } = this.#deps.store
    const known = read.idempotencyKey(userId, key, createdAtMs)
    if (known === undefined) return undefined
    if (known.fingerprint !== fingerprint) {
      const message = 'this Idempotency-Key was used for another request'
      throw new ConflictError('idempotency_key_reused', message)
    }
    return known.commandIds.flatMap((commandId) => read.command(commandId) ?? [])
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

  #newCommand(
    device: Device,
    { command, params, metadata, ttlS }: CommandRequest,
    definition: CommandDefinition,
    { caller, intent }: Asking,
    retryOf: string | null,
  ): CommandRow {
    const { delivery, downloadFor, clock } = this.#deps
    const { hardwareId, shortId, deviceType } = device.row
    if (delivery.unfinishedOf(hardwareId) >= MAX_UNFINISHED) {
      const message = `${MAX_UNFINISHED} commands are waiting for ${hardwareId} already`
      throw new ConflictError('too_many_commands', message)
    }
    const createdAtMs = clock.nowMs()
    return {
      ...NEW_COMMAND,
      commandId: intent?.commandId ?? newUuid(),
      hardwareId,
      shortId,
      deviceType,
      command,
      paramsJson: JSON.stringify(command === FETCH_GEOFENCES_NAME ? downloadFor(device, caller) : params),
      metadataJson: metadata === null ? null : JSON.stringify(metadata),
      ttlS: ttlWithin(ttlS ?? definition.ttlS, createdAtMs, intent?.expiresAtMs),
      requestedBy: caller.userId,
      retryOf,
      createdAtMs,
    }
  }
}

function requireVisible(caller: Caller, hardwareId: string): void {
  if (!canSee(caller, hardwareId))
    throw new ForbiddenError('device_forbidden', `device ${hardwareId} is outside your scope`)
}

function requireFailed({ commandId, status }: CommandRow): void {
  if (status === 'failed' || status === 'timeout') return
  if (status === 'completed')
    throw new ConflictError('command_completed', `command ${commandId} is completed: send a new one`)
  throw new ConflictError('command_not_finished', `command ${commandId} is ${status}: it may still be done`)
}

/** Throws `intent_expired` when there is not a second left. */
function ttlWithin(ttlS: number, nowMs: number, expiresAtMs = Number.POSITIVE_INFINITY): number {
  const withinS = Math.min(ttlS, Math.floor((expiresAtMs - nowMs) / 1000))
  if (withinS < 1) throw new ConflictError('intent_expired', 'the intent arrived after it had expired')
  return withinS
}

/** The same text for the same value, whatever the order of its keys. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, nested: unknown) =>
    typeof nested === 'object' && nested !== null && !Array.isArray(nested)
      ? Object.fromEntries(Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)))
      : nested,
  )
}
