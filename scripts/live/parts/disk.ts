import { createRandom, type Random } from '#shared/random.ts'
import type { Bottle, Check, Finding, Part } from '../bottle.ts'
import { isSettled } from '../checks/devices.ts'
import { Resources } from '../checks/resources.ts'
import { Rows } from '../checks/rows.ts'
import { Stored } from '../checks/stored.ts'
import { RareWrites } from '../model/rare-writes.ts'
import type { Entry } from '../plan.ts'
import type { DiskFault } from '../world/disk.ts'
import { volume } from '../world/host.ts'
import type { Program } from '../world/program.ts'
import { running } from '../world/virtual-time.ts'
import { startAgain } from './process.ts'

type PowerCut = Extract<Entry, { kind: 'powercut' }>

const MINUTE_MS = 60_000
/** Share of the power cuts after which another one comes during the start, and the most changes before that. */
const AGAIN = 0.4
const START_CHANGES = 600
/** Bytes that the gateway leaves to other programs, and a little: the disk is nearly full. */
const NEARLY_FULL_BYTES = (256 << 20) + 1_000_000
/** Time in which a state of the disk must show, and in which the gateway must have caught up after a fault. */
const SHOWN_MS = 5 * MINUTE_MS
/** Time in which a sample must be acknowledged on a line and a disk that are well. */
const ACKNOWLEDGED_MS = 3 * MINUTE_MS
/** Interval at which the use of keys is stored: a kill on a disk that fails loses what could not be stored. */
const USAGE_SAVED_MS = 10_000
/** Checks of what needs no write. */
const UNWRITTEN = [5, 6, 7, 11, 13, 25, 51]
/** Checks that read nothing from the disk. */
const UNREAD = [11, 13, 25, 51]

/** Lines at warn or error while the disk fails: they name it as the reason. */
const EXPLAINED: readonly RegExp[] = [
  /disk use is close to the budget/,
  /SQLITE_(FULL|IOERR)|ENOSPC|EIO/,
  /DISK_UNREADABLE|the disk does not return its data/,
  /"reason":"[^"]*the (store|history) (cannot be (written|read)|does not answer)"/,
  // a client is let in once its session is stored
  /"refused":"connect_timeout"|refused more MQTT clients/,
  // acknowledgements of the hub cannot be stored
  /streams do not advance although the hub responds/,
]

/** Line after a power cut while a start or stop wrote. */
const CUT_IN_START = /a start was ended while it wrote/

/** The disk of the gateway: its power cuts, and the times in which it is full or fails. */
export class DiskFaults implements Part {
  readonly checks: readonly Check[]
  readonly #bottle: Bottle
  readonly #random: Random
  /** Since when the disk has had little room, has failed, and has been well. */
  #nearSinceMs: number | null = null
  #failingSinceMs: number | null = null
  #wellSinceMs = 0
  #fault: DiskFault = {}
  readonly #refused = new RareWrites()
  #nextWriteFault: Extract<Entry, { kind: 'write-fault' }> | null = null
  #ends: NodeJS.Timeout | undefined

  constructor(bottle: Bottle) {
    this.#bottle = bottle
    this.#random = createRandom(bottle.plan.seed, 'disk faults')
    bottle.onWrite.push((name) => this.#failAt(name))
    const full: Check = {
      number: 25,
      claim: 'a full disk is reported and nothing is acknowledged that it does not take; later all resumes',
      when: 'look',
      find: () => this.#find(),
    }
    this.checks = [new Stored(), full, new Resources(), new Rows()]
  }

  async perform(entry: Entry): Promise<void> {
    const { life } = this.#bottle
    if (entry.kind === 'powercut' && life.program !== null) this.#arm(life.program, entry)
    if (!life.disk.isPresent || this.#ends !== undefined) return
    if (entry.kind === 'baddisk') this.#fail(entry.fault, entry.forMs)
    if (entry.kind === 'write-fault') this.#nextWriteFault = entry
    // with a hub it would delete what the hub has, of which the checks of histories know nothing
    if (entry.kind === 'fill' && (this.#bottle.plan.hub ?? 'none') === 'none') {
      this.#explain(EXPLAINED, entry.nearMs)
      this.#nearSinceMs = this.#bottle.time.nowMs
      volume.freeBytes = NEARLY_FULL_BYTES
      this.#ends = setTimeout(() => {
        volume.freeBytes = 0
        this.#fail({ write: 'ENOSPC' }, entry.fullMs)
      }, entry.nearMs)
    }
  }

  excuses(check: number): boolean {
    const { time, life } = this.#bottle
    const isUnclear = this.#failingSinceMs !== null || time.nowMs - this.#wellSinceMs < SHOWN_MS
    if (!isUnclear) return false
    return !(life.disk.isFailing && this.#fault.read !== undefined ? UNREAD : UNWRITTEN).includes(check)
  }

  #failAt(name: string): void {
    const entry = this.#nextWriteFault
    if (!this.#refused.isRare(name) || entry === null || this.#ends !== undefined) return
    if (!this.#bottle.life.disk.isPresent) return
    this.#nextWriteFault = null
    this.#refused.count(name)
    running.exit(() => this.#fail(entry.fault, entry.forMs))
  }

  #fail(fault: DiskFault, forMs: number): void {
    const { life, time } = this.#bottle
    this.#fault = fault
    this.#failingSinceMs = time.nowMs
    this.#bottle.diskWellSinceMs = Number.POSITIVE_INFINITY
    this.#explain(EXPLAINED, forMs)
    life.disk.fail(fault)
    this.#disturb()
    const disturbing = setInterval(() => this.#disturb(), MINUTE_MS)
    this.#ends = setTimeout(() => {
      clearInterval(disturbing)
      this.#mend()
    }, forMs)
  }

  #mend(): void {
    const { life, time, kills, unsaved } = this.#bottle
    const sinceMs = this.#failingSinceMs ?? time.nowMs
    life.disk.fail({})
    volume.freeBytes = 20e9
    this.#disturb()
    const lose = (earliestMs: number) => {
      for (const killMs of kills.filter((one) => one >= earliestMs))
        for (let atMs = sinceMs; atMs < killMs; atMs += USAGE_SAVED_MS) unsaved.push(atMs)
    }
    lose(sinceMs)
    // what could not be stored is stored at the next interval
    setTimeout(lose, USAGE_SAVED_MS, time.nowMs)
    this.#ends = undefined
    this.#nearSinceMs = null
    this.#failingSinceMs = null
    this.#wellSinceMs = time.nowMs
    this.#bottle.diskWellSinceMs = time.nowMs
  }

  /** Explains lines of the log until its next check. */
  #explain(lines: readonly RegExp[], alsoMs = 0): void {
    const { explained } = this.#bottle
    explained.push(...lines)
    setTimeout(
      () => {
        for (const one of lines) explained.splice(explained.indexOf(one), 1)
      },
      2 * SHOWN_MS + MINUTE_MS + alsoMs,
    )
  }

  #disturb(): void {
    const { carts, disturbedAtMs, time } = this.#bottle
    for (const cart of carts) disturbedAtMs.set(cart, time.nowMs)
  }

  async #find(): Promise<Finding[]> {
    const { life, time, carts } = this.#bottle
    const { nowMs } = time
    const isOld = (sinceMs: number | null) => sinceMs !== null && nowMs - Math.max(sinceMs, life.startedAtMs) > SHOWN_MS
    const found: Finding[] = []
    const health = await this.#bottle.ask('GET', '/health')
    const alerts = await this.#bottle.ask('GET', '/alerts?kind=disk&state=open')
    if (health === null || alerts === null) return []
    const isWell = this.#nearSinceMs === null && this.#failingSinceMs === null && isOld(this.#wellSinceMs)
    if (isWell) {
      for (const cart of carts) {
        if (cart.isDrained || !cart.isConnected || !isSettled(this.#bottle, cart, SHOWN_MS)) continue
        const [first] = [...cart.samples].find(([, isStored]) => !isStored) ?? [nowMs]
        if (nowMs - first > ACKNOWLEDGED_MS)
          found.push({
            subject: cart.hardwareId,
            is: `a sample of ${new Date(first).toISOString()} is not acknowledged`,
            expected: 'acknowledged',
          })
      }
    }
    // a disk without room shows before it is full, and the alert stays until there is room
    const mustBeOpen =
      isOld(this.#nearSinceMs) &&
      (this.#failingSinceMs === null || this.#failingSinceMs - (this.#nearSinceMs ?? 0) > SHOWN_MS)
    const isOpen = alerts.body.alerts?.length
    if (alerts.status === 200 && ((mustBeOpen && isOpen !== 1) || (isWell && isOpen !== 0)))
      found.push({ is: `${isOpen} open alerts of the disk`, expected: mustBeOpen ? '1' : '0' })
    const isUnwritable = isOld(this.#failingSinceMs) && carts.some((cart) => cart.isConnected && !cart.isDrained)
    if ((isWell && health.status !== 200) || (isUnwritable && health.status !== 503))
      found.push({ is: `health ${health.status}: ${health.body.detail}`, expected: isWell ? '200' : '503' })
    return found
  }

  /** Cuts the power between two changes of the disk; the program dies before it can send anything more. */
  #arm(program: Program, entry: PowerCut): void {
    const { life, time, kills } = this.#bottle
    if (program.onTurn !== null) return
    life.armPowerCut(entry.changes)
    program.onTurn = () => {
      if (life.disk.isPresent && !life.disk.isFrozen) return
      program.onTurn = null
      kills.push(time.nowMs)
      if (!life.isRunning) this.#explain([CUT_IN_START], entry.downMs)
      life.cutPower(entry.kept, entry.seed)
      life.onStart = null
      if (this.#random.chance(AGAIN)) {
        const changes = Math.ceil(START_CHANGES ** this.#random.next())
        life.onStart = (next) => this.#arm(next, { ...entry, changes, seed: entry.seed + 1 })
      }
      running.exit(() => setTimeout(() => startAgain(this.#bottle), entry.downMs))
    }
  }
}
