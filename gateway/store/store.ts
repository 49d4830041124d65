import { EventEmitter } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { LATEST_MS } from '#domain/event-time.ts'
import { GATEWAY } from '#domain/origin.ts'
import type { DiskProbe } from '#domain/written-disk.ts'
import { TLS_FOLDER } from '#shared/authority/authority-folder.ts'
import type { Counter } from '#shared/counter.ts'
import { DamagedError, UnavailableError } from '#shared/errors.ts'
import { folderFault, preparePrivateFolder } from '#shared/files/private-files.ts'
import type { Component } from '#shared/lifecycle.ts'
import type { Log } from '#shared/log.ts'
import type { Registration } from '#shared/registrations.ts'
import { systemClock } from '#shared/time.ts'
import { typedCommand } from '#shared/typed-command.ts'
import type { ZoneType } from '#shared/zones/zone.ts'
import { callsWaitingSince, newCalls } from './calls/cart-calls.ts'
import { DamageFindings } from './damage/findings.ts'
import { checkLog } from './damage/log-check.ts'
import { repairAtStart } from './damage/start.ts'
import { isUnreadable } from './damage/unreadable.ts'
import { pagesWithWrongBit, repairPages } from './damage/wrong-bits.ts'
import type { TimedActor } from './db/audit.ts'
import { type Connection, databaseSpace, openReader, openUncheckedReader } from './db/connection.ts'
import { DataLock } from './db/data-lock.ts'
import { describeFault, isDamage, isWrongSum, storeFaultCode } from './db/fault.ts'
import {
  DAMAGE_NOTES,
  DATABASE,
  DATABASE_INDEX_OF_LOG,
  DATABASE_LOG,
  databasePath,
  OPEN_MARK,
  PAGE_SUMS,
} from './db/files.ts'
import { clearOpenMarker, requireWholeCopy, setOpenMarker } from './db/open-marker.ts'
import { diskFault } from './db/readable-disk.ts'
import { syncCursors, syncIdentity } from './ledger/cursors.ts'
import { listMailReports } from './mail-reports/mail-reports.ts'
import { findMessage } from './messages/messages.ts'
import { readyTexts } from './messages/ready-texts.ts'
import { knownSchema, migrate, schemaWriter } from './migrate.ts'
import { PageSums } from './pages/page-sums.ts'
import { findParty, listLiveParties, listPartiesOfDay, namesDeletedOn } from './parties/parties.ts'
import { ReaderPool } from './readers/pool.ts'
import { finishReplacement } from './replace/replace-database.ts'
import { findIntent, lastIntentSeq } from './replication/intents.ts'
import { findServiceEntry, lastServices, listServicePlans } from './service/service.ts'
import { serviceDays } from './service/usage.ts'
import { closedDay, findAlert, listAlertMessages, listLiveAlerts } from './tables/alerts.ts'
import { lastExits, listCartMotions } from './tables/cart-motion.ts'
import { listCartNotes } from './tables/cart-notes.ts'
import { clockMark } from './tables/clock-mark.ts'
import { closedDays } from './tables/closing.ts'
import { autoLockTimes, countCommands, findCommand, listUnfinishedCommands } from './tables/commands.ts'
import { coursePhoto, courseRow } from './tables/course.ts'
import { loadConfigs } from './tables/device-configs.ts'
import { listDeviceTypes } from './tables/device-types.ts'
import { deviceCounts, fleetCounts, listDevices, listRemovedDevices } from './tables/devices.ts'
import { listGeofenceSets, listZoneMessages } from './tables/geofences.ts'
import { listGroups } from './tables/groups.ts'
import { findIdempotencyKey } from './tables/idempotency-keys.ts'
import { isLockEventStored, type LockEventIdentity, latestLockEvent } from './tables/lock-events.ts'
import { knownMachine } from './tables/machine.ts'
import { loadMqttSessions } from './tables/mqtt-sessions.ts'
import { listNotifiers } from './tables/notifiers.ts'
import { deliveriesOfAlert, deliveriesOfTarget, deliveryTexts, listDeliveries } from './tables/outbox.ts'
import { pinTries } from './tables/pin-tries.ts'
import { listQuarantine } from './tables/quarantine.ts'
import { lastRecall } from './tables/recall.ts'
import { isAdminKeyRevealed, setupSessionId } from './tables/secrets.ts'
import { listSessions } from './tables/sessions.ts'
import { siteSettings } from './tables/site.ts'
import { listUsers } from './tables/users.ts'
import { listWebhooks } from './tables/webhooks.ts'
import { listZoneExempts } from './tables/zone-exempts.ts'
import { listZoneVersions, zoneSet, zonesOfVersion } from './tables/zones.ts'
import { type DamagedRange, damagedBlocks, damagedBlocksIn } from './telemetry/damaged-blocks.ts'
import { latestBattery, latestGps } from './telemetry/latest-records.ts'
import { logEnds } from './telemetry/log-samples.ts'
import { TelemetryReader } from './telemetry/reader.ts'
import { syncEnds } from './telemetry/stream-positions.ts'
import type { UnreadableBlock } from './telemetry/unreadable-block.ts'
import { UnsavedRecords } from './telemetry/unsaved-states.ts'
import { BACKUPS } from './upgrade/backup-before.ts'
import { requireOwnFile, requireOwnTables } from './upgrade/database-owner.ts'
import { PROGRAM_RECORD, type SwappedBack } from './upgrade/program-record.ts'
import {
  type DatabaseToUpgrade,
  findSwappedBack,
  isOpened,
  noteProgram,
  type OnUpgrade,
  recordMqttOpened,
  upgradeDatabase,
} from './upgrade/upgrade.ts'
import type { Appendable } from './writer/appender.ts'
import { CommitQueue, type StoreHealth } from './writer/commit-queue.ts'
import type { CommitTimes } from './writer/commit-times.ts'
import { openForSetup, openWriter } from './writer/open.ts'
import { Writer } from './writer/writer.ts'
import type { NamedWrite, WriteInput, WriteName, WriteResult } from './writer/writes.ts'

export interface StoreOptions {
  dataDir: string
  readerThreads: number
  /** Maximum number of rows that wait for the disk; see `CommitQueue.isFull`. */
  writeQueueRows: number
  /** Keeps a copy of a database that has data before it is migrated; default true. */
  backsUpBeforeUpgrade?: boolean
  /** Minimum time in ms between the starts of two message transactions under low load; default 0. */
  commitMs?: number
}

/** Interval of returning freed memory. It takes some milliseconds after a start or long reads, else 0.2 ms. */
const GIVE_BACK_MS = 10_000

interface StoreEvents {
  /** Blocks that a read could not decode; the same block may be reported repeatedly. */
  unreadable: [blocks: UnreadableBlock[]]
  /** A read or a write met damage, in this thread or in another one. */
  damaged: []
}

/** Database of the gateway: `read`, `readers`, `write`, and `queue` for messages of devices. Runs all SQL. */
export class Store<Message extends Appendable = Appendable>
  extends EventEmitter<StoreEvents>
  implements Component, DiskProbe
{
  readonly queue: CommitQueue<Message>
  /** Damage found in the database since the start. */
  readonly damage: DamageFindings
  /** Long reads, in separate threads. */
  readonly readers: ReaderPool
  readonly #options: StoreOptions
  readonly #path: string
  readonly #lock: DataLock
  readonly #pageSums: PageSums
  readonly #writer: Writer
  readonly #originNow: () => TimedActor
  #stopping = new AbortController()
  #upgrade: Promise<void> = Promise.resolve()
  #swappedBack: SwappedBack | undefined
  #connection: Connection | undefined
  #giveBackTimer: NodeJS.Timeout | undefined
  #telemetry: TelemetryReader | undefined
  #unsaved: UnsavedRecords | undefined

  /** `originNow` returns the actor of a write that is requested now; default the gateway itself. */
  constructor(
    options: StoreOptions,
    log: Log,
    originNow: () => TimedActor = () => ({ ...GATEWAY, atMs: systemClock.nowMs() }),
  ) {
    super()
    this.#originNow = originNow
    this.#options = options
    this.#path = databasePath(options.dataDir)
    this.#lock = new DataLock(options.dataDir)
    this.#pageSums = new PageSums(this.#path, log)
    this.damage = new DamageFindings(log)
    this.#writer = new Writer(this.#path, log, this.damage)
    this.#writer.faults.onDamage = () => this.emit('damaged')
    this.readers = new ReaderPool(
      this.#path,
      options.readerThreads,
      this.#writer.faults,
      log,
      (blocks) => this.emit('unreadable', blocks),
      (fault) => this.#reportTelemetry(fault),
      (fault) => this.#repair(fault),
    )
    this.queue = new CommitQueue<Message>(this.#writer, options.writeQueueRows, log, options.commitMs)
  }

  /** Creates or upgrades the database and starts the threads; `onUpgrade` precedes each step. Throws for a bad file. */
  async start(onUpgrade: OnUpgrade = () => undefined): Promise<void> {
    prepareDataFolder(this.#options.dataDir)
    this.#lock.take()
    this.damage.noteIn(this.#options.dataDir)
    finishReplacement(this.#options.dataDir)
    requireOwnFile(this.#path)
    requireWholeCopy(this.#path)
    try {
      await this.#setUp(onUpgrade)
    } catch (error) {
      if (storeFaultCode(error) === null) throw error
      const { dataDir } = this.#options
      const isContent = isUnreadable(error)
      const unreadable = isContent ? diskFault(this.#path) : null
      const advice =
        isContent && unreadable === null ? `; ${typedCommand('repair')} creates a new one from all readable data` : ''
      throw new Error(`the database in ${dataDir} cannot be used: ${describeFault(unreadable ?? error)}${advice}`, {
        cause: error,
      })
    }
    await this.#writer.start()
    await this.readers.start()
    this.#giveBackTimer = setInterval(() => this.#pageSums.giveBackMemory(), GIVE_BACK_MS)
  }

  async #setUp(onUpgrade: OnUpgrade): Promise<void> {
    // before `checkLog`, which may quarantine the log: a log shows which program had the database open last
    this.#pageSums.prepare()
    const logDamage = checkLog(this.#path, systemClock.nowMs())
    if (logDamage !== null) this.damage.report(logDamage)
    await this.#bringUpToDate(onUpgrade)
    for (const found of repairAtStart({ path: this.#path, openWriter }, START_READS))
      this.damage.report({ ...found, foundAtMs: systemClock.nowMs() })
    this.#setOpenMarker()
    this.#connection = openReader(this.#path)
    this.#pageSums.opened()
    this.#repairPages(this.#connection)
  }

  #setOpenMarker(): void {
    const writing = openWriter(this.#path)
    try {
      setOpenMarker(writing.db, this.#path)
    } finally {
      writing.close()
    }
  }

  async #bringUpToDate(onUpgrade: OnUpgrade): Promise<void> {
    const { dataDir, backsUpBeforeUpgrade = true } = this.#options
    requireOwnTables(this.#path)
    const connection = openForSetup(this.#path)
    let older: DatabaseToUpgrade | undefined
    try {
      // clears the marker of a killed gateway, so that the copy made before an upgrade counts as complete
      unmark(connection)
      const schema = Number(connection.db.pragma('user_version', { simple: true }))
      if (schema === 0 || schema >= knownSchema()) migrate(connection)
      else {
        const by = schemaWriter(connection)?.program ?? null
        older = {
          dataDir,
          schema,
          path: this.#path,
          schemaWriter: by,
          isBackedUp: backsUpBeforeUpgrade,
        }
      }
    } finally {
      connection.close()
    }
    if (older === undefined) noteProgram(dataDir)
    else {
      this.#upgrade = upgradeDatabase(older, onUpgrade, this.#stopping.signal)
      await this.#upgrade
    }
    this.#swappedBack = findSwappedBack(dataDir)
  }

  /**
   * Records that the MQTT listener opens, so that an upgrade is not rolled back automatically from then on. Called
   * before devices can connect. Rejects at the first start after an upgrade if nothing can be stored.
   */
  async recordMqttOpened(): Promise<void> {
    const { dataDir } = this.#options
    if (isOpened(dataDir)) return
    await this.queue.write({ kind: 'probe' })
    recordMqttOpened(dataDir)
  }

  /** Upgrade that failed and was rolled back to this program; undefined if there was none. */
  get swappedBack(): SwappedBack | undefined {
    return this.#swappedBack
  }

  /** Repairs pages with one wrong bit. Called after `opened`: pages changed by another program have other checksums. */
  #repairPages(reading: Connection): void {
    if (pagesWithWrongBit(reading).length === 0) return
    const writing = openWriter(this.#path)
    try {
      for (const found of repairPages(writing)) this.damage.report({ ...found, foundAtMs: systemClock.nowMs() })
    } finally {
      writing.close()
    }
  }

  /** Writes the queue to the disk, then closes. */
  async stop(): Promise<void> {
    clearInterval(this.#giveBackTimer)
    this.#stopping.abort()
    await this.#upgrade.catch(() => undefined)
    await this.queue.stop()
    await this.readers.stop()
    this.#connection?.close()
    this.#connection = undefined
    this.#telemetry = undefined
    this.#unsaved = undefined
    await this.#writer.stop()
    this.#pageSums.closed()
    this.#lock.release()
  }

  /** Faults by code. */
  get faults(): Counter {
    return this.#writer.faults
  }

  get commitTimes(): CommitTimes {
    return this.#writer.commitTimes
  }

  get health(): StoreHealth {
    return this.queue.health
  }

  /** Time of the last transaction that the disk accepted or rejected, in ms of `performance.now()`. */
  get answeredAtMs(): number {
    return this.#writer.answeredAtMs
  }

  /** Queues a minimal write; resolves when it is on the disk. */
  async probe(): Promise<void> {
    await this.queue.write({ kind: 'probe' })
  }

  /**
   * Queues a write in a transaction of its own; resolves when on the disk. Change memory that depends on it and on
   * messages in `onWritten`, see `CommitQueue.write`. `also` precedes it in the same transaction: both or neither.
   */
  write<Name extends WriteName>(
    name: Name,
    input: WriteInput<Name>,
    onWritten?: (result: WriteResult<Name>) => void,
    also?: NamedWrite,
  ): Promise<WriteResult<Name>> {
    // the writer runs the function of that name, so its result has that type, here and in `onWritten`
    return this.queue.write(
      { kind: 'write', name, input, also, origin: this.#originNow() },
      onWritten as ((result: unknown) => void) | undefined,
    ) as Promise<WriteResult<Name>>
  }

  /** Empties the log into the database: no overwritten content remains. False if readers need it or the disk fails. */
  async truncateLog(): Promise<boolean> {
    const answer = await this.#writer.perform({ kind: 'truncate' })
    return answer.kind === 'written' && answer.result === true
  }

  /** Short reads on the caller's thread; they see every committed write. Throw `store_unavailable`. */
  readonly read = {
    devices: () => this.#read((from) => this.#orUnchecked(() => listDevices(from), listDevices)),
    removedDevices: () => this.#read(listRemovedDevices),
    deviceTypes: () => this.#read(listDeviceTypes),
    configs: () => this.#read(loadConfigs),
    groups: () => this.#read(listGroups),
    siteSettings: () => this.#read(siteSettings),
    courseRow: () => this.#read(courseRow),
    coursePhoto: () => this.#read(coursePhoto),
    alert: (alertId: string) => this.#read((from) => findAlert(from, alertId)),
    liveAlerts: (closedSinceMs: number) => this.#read((from) => listLiveAlerts(from, closedSinceMs)),
    alertMessages: () => this.#read(listAlertMessages),
    closedDay: () => this.#read(closedDay),
    newCalls: () => this.#read(newCalls),
    mailReports: () => this.#read(listMailReports),
    callsWaitingSince: () => this.#read(callsWaitingSince),
    cartMotions: () => this.#read(listCartMotions),
    cartNotes: () => this.#read(listCartNotes),
    liveParties: (sinceMs: number) => this.#read((from) => listLiveParties(from, sinceMs)),
    party: (partyId: string) => this.#read((from) => findParty(from, partyId)),
    partiesOfDay: (date: string) => this.#read((from) => listPartiesOfDay(from, date)),
    serviceEntry: (entryId: string) => this.#read((from) => findServiceEntry(from, entryId)),
    lastServices: () => this.#read(lastServices),
    servicePlans: () => this.#read(listServicePlans),
    serviceDays: () => this.#read(serviceDays),
    namesDeletedOn: () => this.#read(namesDeletedOn),
    zoneExempts: () => this.#read(listZoneExempts),
    lastExits: (zoneType: ZoneType, sinceMs: number) => this.#read((from) => lastExits(from, { zoneType, sinceMs })),
    latestLockEvent: (device: { hardwareId: string } & Registration, untilMs: number) =>
      this.#read((from) => latestLockEvent(from, device, untilMs)),
    message: (messageId: string) => this.#read((from) => findMessage(from, messageId)),
    readyTexts: () => this.#read(readyTexts),
    lastRecall: () => this.#read(lastRecall),
    pinTries: () => this.#read(pinTries),
    deviceCounts: (deviceId: number) => this.#readCounts((from, unsaved) => deviceCounts(from, deviceId, unsaved)),
    fleetCounts: () => this.#readCounts(fleetCounts),
    latestGps: (deviceId: number, untilMs = LATEST_MS) =>
      this.#readTelemetry((from) => latestGps(from, deviceId, untilMs)),
    latestBattery: (deviceId: number, untilMs = LATEST_MS) =>
      this.#readTelemetry((from) => latestBattery(from, deviceId, untilMs)),
    isLockEventStored: (event: LockEventIdentity) => this.#read((from) => isLockEventStored(from, event)),
    geofenceSets: () => this.#read(listGeofenceSets),
    zoneSet: () => this.#read(zoneSet),
    zoneVersions: () => this.#read(listZoneVersions),
    zonesOfVersion: (version: number) => this.#read((from) => zonesOfVersion(from, version)),
    zoneMessages: () => this.#read(listZoneMessages),
    command: (commandId: string) => this.#read((from) => findCommand(from, commandId)),
    unfinishedCommands: () => this.#read(listUnfinishedCommands),
    damagedBlocks: () => this.#read(damagedBlocks),
    damagedBlocksIn: (range: DamagedRange) => this.#read((from) => damagedBlocksIn(from, range)),
    commandCount: () => this.#read(countCommands),
    autoLockTimes: () => this.#read(autoLockTimes),
    closedDays: () => this.#read(closedDays),
    idempotencyKey: (userId: string, key: string, nowMs: number) =>
      this.#read((from) => findIdempotencyKey(from, userId, key, nowMs)),
    intent: (intentId: string) => this.#read((from) => findIntent(from, intentId)),
    lastIntentSeq: () => this.#read(lastIntentSeq),
    clockMark: () => this.#read(clockMark),
    machine: () => this.#read(knownMachine),
    isAdminKeyRevealed: () => this.#read(isAdminKeyRevealed),
    setupSessionId: () => this.#read(setupSessionId),
    users: () => this.#read(listUsers),
    sessions: () => this.#read(listSessions),
    webhooks: () => this.#read(listWebhooks),
    notifiers: () => this.#read(listNotifiers),
    deliveries: (afterSeq: number, limit: number) => this.#read((from) => listDeliveries(from, afterSeq, limit)),
    deliveriesOfTarget: (targetId: string, untilSeq: number) =>
      this.#read((from) => deliveriesOfTarget(from, targetId, untilSeq)),
    deliveriesOfAlert: (alertId: string) => this.#read((from) => deliveriesOfAlert(from, alertId)),
    deliveryTexts: (targetId: string, seqs: readonly number[]) =>
      this.#read((from) => deliveryTexts(from, targetId, seqs)),
    quarantine: (limit: number) => this.#read((from) => listQuarantine(from, limit)),
    mqttSessions: () => this.#read(loadMqttSessions),
    space: () => this.#read(databaseSpace),
    logEnds: () => this.#read(logEnds),
    syncIdentity: () => this.#read(syncIdentity),
    syncCursors: () => this.#read(syncCursors),
    syncEnds: () => this.#read(syncEnds),
  }

  #readTelemetry<Result>(work: (reader: TelemetryReader) => Result): Result {
    const take = (reader: TelemetryReader) => {
      const result = work(reader)
      const unreadable = reader.takeUnreadable()
      if (unreadable.length > 0) this.emit('unreadable', unreadable)
      return result
    }
    return this.#read((connection) => {
      this.#telemetry ??= new TelemetryReader(connection)
      const known = this.#telemetry
      return this.#orUnchecked(
        () => take(known),
        (unchecked) => take(new TelemetryReader(unchecked)),
      )
    })
  }

  #readCounts<Result>(read: (from: Connection, unsaved: UnsavedRecords) => Result): Result {
    return this.#read((from) => {
      this.#unsaved ??= new UnsavedRecords(from)
      try {
        return read(from, this.#unsaved)
      } catch (error) {
        if (!isWrongSum(storeFaultCode(error))) throw error
        // only the log has checksums of its own: that page may hold the other rows, so those are read with checks
        return this.#withUnchecked((unchecked) => {
          const result = read(from, new UnsavedRecords(unchecked))
          this.#reportTelemetry(describeFault(error))
          return result
        })
      }
    })
  }

  #reportTelemetry(fault: string): void {
    const detail =
      `A page of the telemetry differs from what was written (${fault}). ` +
      'Damaged blocks on it are quarantined; the rest is available.'
    this.damage.report({
      place: 'telemetry',
      outcome: 'set_aside',
      detail,
      foundAtMs: systemClock.nowMs(),
    })
  }

  /** Repeats a telemetry read without page checksums: blocks have their own; a failed page would hide intact ones. */
  #orUnchecked<Result>(read: () => Result, readUnchecked: (connection: Connection) => Result): Result {
    try {
      return read()
    } catch (error) {
      if (!isWrongSum(storeFaultCode(error))) throw error
      this.#reportTelemetry(describeFault(error))
      return this.#withUnchecked(readUnchecked)
    }
  }

  #withUnchecked<Result>(read: (connection: Connection) => Result): Result {
    const unchecked = openUncheckedReader(this.#path)
    try {
      return read(unchecked)
    } finally {
      unchecked.close()
    }
  }

  #read<Result>(work: (connection: Connection) => Result): Result {
    if (this.#connection === undefined) throw new Error('the store is not started')
    try {
      return work(this.#connection)
    } catch (error) {
      const code = storeFaultCode(error)
      if (code === null) throw error
      this.#writer.faults.add(code)
      const unreadable = isDamage(code) ? diskFault(this.#path) : null
      if (isDamage(code) && unreadable === null) {
        this.#repair(describeFault(error))
        throw new DamagedError(error)
      }
      // a disk that cannot be read has often failed completely: a commit shows it
      this.probe().catch(() => undefined)
      throw new UnavailableError('the store cannot be read', unreadable ?? error)
    }
  }

  /** Has the writer search for the damage that a read met; the writer reports what it finds. */
  #repair(fault: string): void {
    this.queue.write({ kind: 'mend', fault }).catch(() => undefined)
  }
}

/** Reads that components make at their start, of tables that the check at the start skips. */
const START_READS = [
  countCommands,
  listUnfinishedCommands,
  damagedBlocks,
  logEnds,
  syncEnds,
  coursePhoto,
  (connection: Connection) => listLiveAlerts(connection, 0),
]

function unmark({ db }: Connection): void {
  try {
    clearOpenMarker(db)
  } catch (error) {
    // the disk is full or damaged: the database stays marked as open, harmless because it is still the same file
    if (storeFaultCode(error) === null) throw error
  }
}

/** File with the key of a demo. */
export const DEMO_KEY = 'demo-key.txt'

const FILES = [
  DATABASE,
  DATABASE_LOG,
  DATABASE_INDEX_OF_LOG,
  PAGE_SUMS,
  OPEN_MARK,
  'cartbarn.lock',
  'backup.lock',
  'backups.json',
  DAMAGE_NOTES,
  'sync.slots',
  'sync.json',
  PROGRAM_RECORD,
  BACKUPS,
  'admin-key.txt',
  TLS_FOLDER,
  DEMO_KEY,
] as const

/** Creates the data folder, or removes others' access. Throws an `Error` with a text for people if it is unusable. */
export function prepareDataFolder(dataDir: string): void {
  preparePrivateFolder(dataDir, FILES)
  try {
    accessSync(dataDir, constants.W_OK)
  } catch (error) {
    throw folderFault(`the data folder ${dataDir} cannot be written`, error)
  }
}
