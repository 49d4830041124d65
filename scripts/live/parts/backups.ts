import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createRandom } from '#shared/random.ts'
import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import { compareRows } from '../checks/backup-rows.ts'
import { localToMs, toLocal } from '../model/local-time.ts'
import { Stick } from '../model/stick.ts'
import type { Entry } from '../plan.ts'
import { copyDatabase } from '../world/database-copy.ts'
import { threadEvents } from '../world/threads.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Time after which a backup that was missed at night is made, and after which the alert opens. */
const LATE_MS = 26 * HOUR_MS
const OVERDUE_MS = 36 * HOUR_MS
const SAME_NIGHT_MS = 3 * HOUR_MS
/** Longest time to the next attempt. */
const RETRY_MS = 65 * MINUTE_MS
const SURE_MS = 15 * MINUTE_MS
const PASSPHRASE = 'passphrase of the bottle'

/** Attempt of the gateway at a backup. */
interface Attempt {
  readonly startMs: number
  readonly before: number
  /** True if the clock was wrong, or might be as wrong to the gateway. */
  readonly isByWrongClock: boolean
  /** False while it runs, and afterwards if it was killed. */
  hasEnded: boolean
  /** Null if it was killed after it had been written: the gateway may have stored that or not. */
  isGood: boolean | null
}

/** The nightly backups: a stick that is pulled out or full, kills during a backup, and restores. */
export class Backups implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #stick: Stick
  readonly #hour: number
  readonly #folder: string
  readonly #attempts: Attempt[] = []
  /** Time at which a fault of the stick last began or ended. */
  #stickChangedAtMs: number
  /** Kill of the next backup. */
  #kill: { readonly turns: number; readonly downMs: number } | null = null
  #judged = 0
  #isCompared = true

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.#folder = dirname(bottle.dataDir)
    this.#stick = new Stick(join(this.#folder, 'stick'))
    this.#stickChangedAtMs = bottle.time.startMs
    // of these the first occurs twice when summer time ends, and never when it begins
    this.#hour = createRandom(bottle.plan.seed, 'backups').pick([2, 2, 3, 23])
    Object.assign(bottle.settings, {
      CARTBARN_BACKUP_TO: `${this.#stick.target}/`,
      CARTBARN_BACKUP_PASSPHRASE: PASSPHRASE,
      CARTBARN_BACKUP_HOUR: String(this.#hour),
      CARTBARN_BACKUP_KEEP: '3',
    })
    Object.assign(threadEvents, {
      onStart: (thread: string) => thread === 'backup' && this.#began(),
      onEnd: (thread: string) => thread === 'backup' && this.#ended(),
    })
    this.checks = [
      { number: 44, claim: 'one backup a night, in its hour', when: 'look', find: () => this.#judgeTimes() },
      { number: 44, claim: 'the newest backup restores to its rows', when: 'night', find: () => this.#restore() },
      { number: 28, claim: 'the alert backup is open without a good one', when: 'look', find: () => this.#alert() },
    ]
  }

  async perform(entry: Entry): Promise<void> {
    if (entry.kind === 'backup-kill') this.#kill = entry
    if (entry.kind === 'restart') this.#bottle.explained.push(/the backup thread ended early/)
    if (entry.kind !== 'stick') return
    this.#fail(entry.fault)
    setTimeout(() => this.#fail(null), entry.forMs)
  }

  #fail(fault: Stick['fault']): void {
    // a second fault during one ends with it
    this.#stick.fail(fault)
    this.#stickChangedAtMs = this.#bottle.time.nowMs
    if (fault !== null) this.#bottle.explained.push(/nightly backup failed/)
  }

  #began(): void {
    const { time, clockRightSinceMs } = this.#bottle
    const isByWrongClock = time.nowMs < clockRightSinceMs
    const before = this.#last()
    this.#attempts.push({ startMs: time.nowMs, before, isByWrongClock, hasEnded: false, isGood: false })
    this.#copyTo('before.db')
    // the backup before can no longer be compared
    this.#isCompared = true
    if (this.#kill === null) return
    const kill = { ...this.#kill, kind: 'kill', atMs: time.nowMs } as const
    this.#kill = null
    void this.#bottle.perform(kill)
  }

  #copyTo(name: string): void {
    const { life, dataDir } = this.#bottle
    life.disk.beside(() => copyDatabase(dataDir, join(this.#folder, name)))
  }

  #ended(): void {
    const attempt = this.#attempts.at(-1)
    if (attempt === undefined) return
    attempt.hasEnded = true
    attempt.isGood = this.#last() > attempt.before
    if (!attempt.isGood) return
    this.#copyTo('after.db')
    this.#isCompared = false
  }

  /** Number of the newest finished backup. */
  #last(): number {
    return Number.parseInt(this.#stick.backups().at(-1) ?? '0', 10)
  }

  /** Restores the newest backup into a folder of its own. */
  async #restore(): Promise<Finding[]> {
    const { time, diskWellSinceMs } = this.#bottle
    if (this.#isCompared || this.#stick.fault === 'gone' || diskWellSinceMs > time.nowMs) return []
    this.#isCompared = true
    const dataDir = join(this.#folder, 'restored')
    const { backupPlaceOf } = await time.holding('restore', import('#gateway/offline/backup-places.ts'))
    const { restoreBackup } = await time.holding('restore', import('#gateway/offline/restore.ts'))
    const from = backupPlaceOf(`${this.#stick.target}/`, 'read')
    mkdirSync(dataDir, { mode: 0o700 })
    try {
      await time.until('a restore', restoreBackup({ dataDir, from, passphrase: PASSPHRASE, atMs: time.nowMs }))
      const [restored, before, after] = [dataDir, this.#folder, this.#folder]
      return compareRows(join(restored, 'cartbarn.db'), join(before, 'before.db'), join(after, 'after.db'))
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  }

  #judgeTimes(): Finding[] {
    const found: Finding[] = []
    for (; this.#judged < this.#attempts.length; this.#judged++) {
      const attempt = this.#attempts[this.#judged] as Attempt
      if (this.#isRunning(attempt)) break
      const next = this.#attempts[this.#judged + 1]
      if (!attempt.hasEnded && (next?.before ?? this.#last()) > attempt.before) attempt.isGood = null
      if (attempt.isGood && !this.#isInTime(attempt))
        found.push({ is: `a backup at ${iso(attempt.startMs)}`, expected: `one a night, at ${this.#hour}` })
    }
    const missed = this.#missed()
    return missed === null ? found : [...found, { is: 'no backup', expected: missed }]
  }

  #isRunning({ hasEnded, startMs }: Attempt): boolean {
    return !hasEnded && this.#bottle.life.isRunning && this.#bottle.life.startedAtMs < startMs
  }

  /** True for a backup in its hour without another that night, and for one a day late. */
  #isInTime({ startMs, isByWrongClock }: Attempt): boolean {
    const last = this.#attempts.findLast((one) => one.startMs < startMs && one.isGood === true)
    const sinceMs = startMs - (last?.startMs ?? this.#bottle.time.startMs)
    if (sinceMs >= LATE_MS || isByWrongClock || last?.isByWrongClock) return true
    // a disk that failed may have kept the gateway from noting the last one
    if (this.#bottle.unsaved.some((atMs) => atMs > startMs - sinceMs && atMs < startMs)) return true
    const isInHour = Math.floor(toLocal(startMs).minute / 60) === this.#hour
    return isInHour && (last === undefined || sinceMs >= SAME_NIGHT_MS)
  }

  /** The backup that is missing; null if none is. */
  #missed(): string | null {
    const { life, time } = this.#bottle
    const { nowMs, startMs } = time
    if (!life.isRunning || this.#stick.fault !== null) return null
    const ableMs = Math.max(life.startedAtMs, this.#stickChangedAtMs, this.#bottle.clockRightSinceMs)
    const last = this.#attempts.findLast(({ isGood }) => isGood !== false)
    // by a wrong clock it may look as one of this night
    if (last?.isByWrongClock) return null
    const lastMs = last?.startMs
    const dueMs = Math.max((lastMs ?? startMs) + LATE_MS, ableMs)
    if (nowMs > dueMs + RETRY_MS) return `one by ${iso(dueMs)}`
    const beginsMs = localToMs(toLocal(nowMs - HOUR_MS).date, this.#hour * 60)
    const isThisHour = Math.floor(toLocal(beginsMs).minute / 60) === this.#hour
    const isJustOver = nowMs >= beginsMs + HOUR_MS && nowMs < beginsMs + HOUR_MS + SURE_MS
    if (!isThisHour || !isJustOver || ableMs > beginsMs) return null
    return lastMs !== undefined && lastMs > beginsMs - SAME_NIGHT_MS ? null : `one by ${iso(beginsMs + HOUR_MS)}`
  }

  async #alert(): Promise<Finding[]> {
    const { time, life } = this.#bottle
    const answer = await this.#bottle.ask('GET', '/alerts?kind=backup&state=open')
    const last = this.#attempts.findLast(({ isGood }) => isGood !== false)
    if (answer === null || time.nowMs - life.startedAtMs < SURE_MS || last?.isGood === null) return []
    if (last?.isByWrongClock) return []
    const sinceMs = time.nowMs - (last?.startMs ?? time.startMs)
    if (Math.abs(sinceMs - OVERDUE_MS) < SURE_MS || sinceMs < MINUTE_MS) return []
    const isOpen = answer.body.alerts.length > 0
    const expected = sinceMs > OVERDUE_MS
    if (isOpen === expected) return []
    return [
      { is: `backup ${isOpen ? 'open' : 'not open'}`, expected: `${sinceMs / HOUR_MS} hours after the last good one` },
    ]
  }
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString()
}
