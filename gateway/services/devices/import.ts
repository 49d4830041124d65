import { setImmediate as nextTurn } from 'node:timers/promises'
import { deviceTypes as builtInTypes } from '#devices/all.ts'
import type { Events } from '#gateway/events.ts'
import { groupByCart } from '#shared/carts/cart-keys.ts'
import { InvalidRequestError, type LineError } from '#shared/errors.ts'
import { hashSecret, newMqttPassword } from '#shared/ids.ts'
import type { CartKind } from '#shared/site/settings.ts'
import type { Clock } from '#shared/time.ts'
import type { Store } from '#store/store.ts'
import type { DeviceRow } from '#store/tables/devices.ts'
import type { CartNotesStore } from '../carts/cart-notes-store.ts'
import type { DeviceTypes } from '../configuration/device-types.ts'
import type { Groups } from '../configuration/groups.ts'
import type { ConfigPublisher } from '../configuration/publisher.ts'
import type { Device, Fleet } from '../fleet.ts'
import { type DeviceLine, quoted } from './file.ts'

interface DeviceImportDeps {
  store: Pick<Store, 'write'>
  fleet: Fleet
  groups: Pick<Groups, 'all'>
  deviceTypes: Pick<DeviceTypes, 'find' | 'all'>
  publisher: Pick<ConfigPublisher, 'inTurn'>
  cartNotes: Pick<CartNotesStore, 'of' | 'setKinds'>
  events: Events
  clock: Clock
}

/** Fields of a device that an admin sets. */
type Place = Pick<DeviceRow, 'hardwareId' | 'deviceType' | 'name' | 'cart' | 'groupId'>

interface Plan {
  created: Place[]
  /** Devices with at least one changed field. */
  updated: { device: Device; place: Place }[]
  unchanged: Set<string>
  /** New kinds of carts. */
  kinds: Map<string, CartKind>
}

/** Result of an import, or of its dry run. */
interface ImportOutcome {
  created: number
  updated: number
  unchanged: number
  /** Passwords of created devices; known only now. */
  credentials: { hardwareId: string; password: string }[]
}

/** Maximum number of errors in a response; more would not help anyone. */
const ERRORS_SHOWN = 1000

/** Number of passwords created before other work may run: a few milliseconds. */
const PASSWORDS_A_TURN = 250

/** Registers and changes the devices of a file: all of them or none. */
export class DeviceImport {
  readonly #deps: DeviceImportDeps

  constructor(deps: DeviceImportDeps) {
    this.#deps = deps
  }

  /** Imports the lines. Throws `invalid_import` if a line is invalid, including those of `errors`. */
  run(lines: readonly DeviceLine[], errors: readonly LineError[], isDryRun: boolean): Promise<ImportOutcome> {
    return this.#deps.publisher.inTurn(async (publish) => {
      const plan = this.#plan(lines, errors)
      const { created, updated, unchanged, kinds } = plan
      const other = this.#planKinds(lines, plan)
      const counts = {
        created: created.length,
        updated: updated.length + other,
        unchanged: unchanged.size - other,
      }
      if (isDryRun || created.length + updated.length + kinds.size === 0) return { ...counts, credentials: [] }
      const { store, clock, cartNotes } = this.#deps
      const secrets = await newSecrets(created)
      const nowMs = clock.nowMs()
      const subjects = [
        ...created,
        // only changes of type or group affect the published configuration
        ...updated.flatMap(({ device: { row }, place }) => (isMoved(row, place) ? [place] : [])),
      ]
      const input = {
        created: created.map((place, i) => ({ ...place, mqttPasswordHash: secrets[i]?.hash ?? '', nowMs })),
        updated: updated.map(({ place }) => ({ ...place, nowMs })),
      }
      await cartNotes.setKinds(kinds, (notes, keepNotes) =>
        publish(subjects, undefined, (publication, commit) =>
          store.write('importDevices', { ...input, notes, publication }, (rows) => {
            keepNotes()
            this.#written(rows, plan, commit)
          }),
        ),
      )
      const credentials = created.map(({ hardwareId }, i) => ({
        hardwareId,
        password: secrets[i]?.password ?? '',
      }))
      return { ...counts, credentials }
    })
  }

  #plan(lines: readonly DeviceLine[], wrong: readonly LineError[]): Plan {
    const plan: Plan = { created: [], updated: [], unchanged: new Set(), kinds: new Map() }
    const errors = [...wrong]
    const groupIdOf = groupFinder(this.#deps.groups)
    for (const line of lines) {
      const error = this.#planLine(line, plan, groupIdOf)
      if (error !== undefined) errors.push({ line: line.line, ...error })
    }
    if (errors.length > 0) throw invalidImport(errors)
    return plan
  }

  /** Adds a line to the plan, or returns its error. */
  #planLine(line: DeviceLine, plan: Plan, groupIdOf: GroupFinder): Omit<LineError, 'line'> | undefined {
    const { fleet, deviceTypes } = this.#deps
    const { hardwareId } = line
    const device = fleet.find(hardwareId)
    if (device !== undefined && device.row.hardwareId !== hardwareId)
      return {
        code: 'duplicate',
        message: `${hardwareId} is the short_id of another device`,
        ...quoted('hardware_id', hardwareId),
      }
    const names = deviceTypes.all().map(({ name }) => name)
    const deviceType = line.deviceType === undefined ? device?.row.deviceType : nameIn(names, line.deviceType)
    if (line.deviceType === undefined && deviceType === undefined) {
      const message = `${hardwareId} is new and needs a device_type, one of: ${names.join(', ')}`
      return { code: 'missing', message, column: 'device_type' }
    }
    if (deviceType === undefined)
      return {
        code: 'unknown_device_type',
        message: `device_type must be one of: ${names.join(', ')}`,
        ...quoted('device_type', line.deviceType ?? ''),
      }
    const { group = '' } = line
    const given = group === '' ? (device?.row.groupId ?? null) : groupIdOf(group)
    if (given === 'none')
      return { code: 'unknown_group', message: `there is no group ${group}`, ...quoted('group', group) }
    if (given === 'several') {
      const message = `several groups are named ${group}: use the id of one`
      return { code: 'invalid', message, ...quoted('group', group) }
    }
    const place = {
      hardwareId,
      deviceType,
      groupId: given,
      name: line.name ?? device?.row.name ?? null,
      cart: line.cart ?? device?.row.cart ?? null,
    }
    if (device === undefined) plan.created.push(place)
    else if (isMoved(device.row, place) || isRenamed(device.row, place)) plan.updated.push({ device, place })
    else plan.unchanged.add(hardwareId)
    return undefined
  }

  /** Plans the kinds of carts. Returns how many devices change in nothing else. Throws `invalid_import`. */
  #planKinds(lines: readonly DeviceLine[], { created, updated, unchanged, kinds }: Plan): number {
    const { fleet, cartNotes, clock } = this.#deps
    const given = new Map(lines.filter(({ kind }) => kind !== undefined).map((line) => [line.hardwareId, line]))
    if (given.size === 0) return 0
    const places = new Map<string, Place>(fleet.all().map(({ row }) => [row.hardwareId, row]))
    for (const place of [...created, ...updated.map((one) => one.place)]) places.set(place.hardwareId, place)
    const errors: LineError[] = []
    let other = 0
    for (const [cart, members] of groupByCart([...places.values()])) {
      const named = members.flatMap(({ hardwareId }) => given.get(hardwareId) ?? [])
      const [first, second] = new Map(named.map((line) => [line.kind, line])).values()
      if (second !== undefined) {
        const message = `cart ${cart} is named with the kinds ${first?.kind} and ${second.kind}`
        errors.push({ line: second.line, code: 'duplicate', message })
      }
      const kind = first?.kind
      if (kind === undefined || kind === cartNotes.of(cart, clock.nowMs()).kind) continue
      kinds.set(cart, kind)
      other += named.filter(({ hardwareId }) => unchanged.has(hardwareId)).length
    }
    if (errors.length > 0) throw invalidImport(errors)
    return other
  }

  #written(rows: readonly DeviceRow[], { created, updated }: Plan, commit: () => void): void {
    const { fleet, events } = this.#deps
    for (const row of rows.slice(0, created.length)) {
      fleet.add(row)
      // a client that waits to enrol under this id is not the registered device, and must not receive its data
      events.emit('devicePasswordIssued', { hardwareId: row.hardwareId })
    }
    const moved = updated.flatMap(({ device }, i) => {
      const { hardwareId, groupId: previousGroupId } = device.row
      device.row = rows[created.length + i] ?? device.row
      const { groupId } = device.row
      return groupId === previousGroupId ? [] : [{ hardwareId, groupId, previousGroupId }]
    })
    commit()
    for (const { hardwareId } of created) events.emit('deviceRegistered', { hardwareId })
    for (const { place } of updated) events.emit('deviceChanged', { hardwareId: place.hardwareId })
    for (const event of moved) events.emit('groupChanged', event)
  }
}

/**
 * Returns the exact name, else the only one that differs in case alone, else the type that people call so. The app
 * writes "Lock and tracker (teebox)".
 */
function nameIn(names: readonly string[], text: string): string | undefined {
  if (names.includes(text)) return text
  const wanted = (/\(([^()]+)\)$/.exec(text)?.[1] ?? text).toLowerCase()
  const [only, another] = names.filter((name) => name.toLowerCase() === wanted)
  if (only !== undefined) return another === undefined ? only : undefined
  return builtInTypes.find(({ name, otherNames }) => names.includes(name) && otherNames?.includes(wanted))?.name
}

type GroupFinder = (text: string) => number | 'none' | 'several'

/** Finds a group by its id, else by its exact name. */
function groupFinder(groups: Pick<Groups, 'all'>): GroupFinder {
  const byText = new Map<string, number | 'several'>()
  const all = groups.all()
  for (const { groupId, name } of all) byText.set(name, byText.has(name) ? 'several' : groupId)
  for (const { groupId } of all) byText.set(String(groupId), groupId)
  return (text) => byText.get(text) ?? 'none'
}

function isMoved(row: DeviceRow, place: Place): boolean {
  return row.deviceType !== place.deviceType || row.groupId !== place.groupId
}

function isRenamed(row: DeviceRow, place: Place): boolean {
  return row.name !== place.name || row.cart !== place.cart
}

/** Creates a password for each device, without delaying messages of devices meanwhile. */
async function newSecrets(places: readonly Place[]): Promise<{ password: string; hash: string }[]> {
  const secrets: { password: string; hash: string }[] = []
  while (secrets.length < places.length) {
    if (secrets.length % PASSWORDS_A_TURN === 0 && secrets.length > 0) await nextTurn()
    const password = newMqttPassword()
    secrets.push({ password, hash: hashSecret(password) })
  }
  return secrets
}

function invalidImport(errors: LineError[]): InvalidRequestError {
  errors.sort((a, b) => a.line - b.line)
  const [first] = errors
  const message = `nothing was imported, ${errors.length} errors; line ${first?.line}: ${first?.message}`
  return new InvalidRequestError('invalid_import', message, errors.slice(0, ERRORS_SHOWN))
}
