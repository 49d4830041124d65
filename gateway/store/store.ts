import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Part } from '../../shared/lifecycle.ts'
import type { Log } from '../../shared/log.ts'
import type { StoredSessions } from '../../shared/mqtt-sessions.ts'
import { LATEST_MS } from '../domain/event-time.ts'
import type { LatestBattery, LatestGps } from '../domain/latest-state.ts'
import type { NewQuarantineEntry } from './append.ts'
import { clockMark } from './clock-mark.ts'
import { type Appendable, CommitQueue, type StoreHealth } from './commit-queue.ts'
import { type Connection, openReader, openWriter } from './connection.ts'
import { DataLock } from './data-lock.ts'
import { type DeviceCounts, type DeviceStateRow, deviceCounts, fleetCounts, listDevices } from './devices.ts'
import type { HistoryPage, HistoryPageRequest } from './history-page.ts'
import { isLockEventStored, type LockEventQuery, type LockEventRow, listLockEvents } from './lock-events.ts'
import { migrate } from './migrate.ts'
import { loadMqttSessions } from './mqtt-sessions.ts'
import { listQuarantine } from './quarantine.ts'
import { ReaderPool } from './reader-pool.ts'
import { latestBattery, latestGps } from './telemetry.ts'
import { listUsers, type UserRow } from './users.ts'
import { Writer } from './writer.ts'
import type { WriteInput, WriteName, WriteResult } from './writes.ts'

export interface StoreOptions {
  dataDir: string
  readerThreads: number
  /** Rows that may wait for the disk; see `CommitQueue.isFull`. */
  writeQueueRows: number
}

/** The database of the gateway: `read`, `write`, and `queue` for what devices send. Every SQL statement is behind it. */
export class Store<Message extends Appendable> implements Part {
  readonly queue: CommitQueue<Message>
  readonly #options: StoreOptions
  readonly #path: string
  readonly #lock: DataLock
  readonly #writer: Writer
  readonly #readers: ReaderPool
  #connection: Connection | undefined

  constructor(options: StoreOptions, log: Log) {
    this.#options = options
    this.#path = join(options.dataDir, 'cartbarn.db')
    this.#lock = new DataLock(options.dataDir)
    this.#writer = new Writer(this.#path, log)
    this.#readers = new ReaderPool(this.#path, options.readerThreads, log)
    this.queue = new CommitQueue<Message>(this.#writer, options.writeQueueRows, log)
  }

  /** Makes or upgrades the database and starts the threads. Throws when the file cannot be used. */
  async start(): Promise<void> {
    mkdirSync(this.#options.dataDir, { recursive: true, mode: 0o700 })
    this.#lock.take()
    const connection = openWriter(this.#path)
    try {
      migrate(connection)
      checkSmallTables(connection)
    } finally {
      connection.close()
    }
    this.#connection = openReader(this.#path)
    await this.#writer.start()
    await this.#readers.start()
  }

  /** Stores what is queued, then closes. */
  async stop(): Promise<void> {
    await this.queue.stop()
    await this.#readers.stop()
    this.#connection?.close()
    this.#connection = undefined
    await this.#writer.stop()
    this.#lock.release()
  }

  get health(): StoreHealth {
    return this.queue.health
  }

  /** Runs a write in a transaction of its own, in its turn; resolves when it is on the disk. */
  write<Name extends WriteName>(name: Name, input: WriteInput<Name>): Promise<WriteResult<Name>> {
    // performWrite runs the function of that name, so its result is of that type
    return this.queue.write({ kind: 'write', name, input }) as Promise<WriteResult<Name>>
  }

  /** Short reads, on the caller's thread; they see everything committed. */
  readonly read = {
    devices: (): DeviceStateRow[] => listDevices(this.#reader),
    deviceCounts: (deviceId: number): DeviceCounts => deviceCounts(this.#reader, deviceId),
    fleetCounts: (): { gps: number; battery: number } => fleetCounts(this.#reader),
    latestGps: (deviceId: number, untilMs = LATEST_MS): LatestGps | null =>
      latestGps(this.#reader, deviceId, untilMs),
    latestBattery: (deviceId: number, untilMs = LATEST_MS): LatestBattery | null =>
      latestBattery(this.#reader, deviceId, untilMs),
    lockEvents: (query: LockEventQuery): LockEventRow[] => listLockEvents(this.#reader, query),
    isLockEventStored: (hardwareId: string, identity: string): boolean =>
      isLockEventStored(this.#reader, hardwareId, identity),
    clockMark: (): number => clockMark(this.#reader),
    users: (): UserRow[] => listUsers(this.#reader),
    quarantine: (limit: number): NewQuarantineEntry[] => listQuarantine(this.#reader, limit),
    mqttSessions: (): StoredSessions => loadMqttSessions(this.#reader),
    /** In a reader thread. */
    historyPage: (request: HistoryPageRequest): Promise<HistoryPage> => this.#readers.readPage(request),
  }

  get #reader(): Connection {
    if (this.#connection === undefined) throw new Error('the store is not started')
    return this.#connection
  }
}

// The tables a start reads whole; checking the history would take minutes after a season.
function checkSmallTables(connection: Connection): void {
  for (const table of ['device', 'device_state', 'user']) {
    const [problem] = connection.all<{ quick_check: string }>(`PRAGMA quick_check('${table}')`)
    if (problem?.quick_check !== 'ok')
      throw new Error(`the database is damaged (${table}): ${problem?.quick_check}`)
  }
}
