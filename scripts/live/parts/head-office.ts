import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bottle, type Check, type Finding, type Part, STOP_MS } from '../bottle.ts'
import { Replication } from '../checks/replication.ts'
import type { Entry } from '../plan.ts'
import { openRows } from '../world/gateway-rows.ts'
import { HUB_PORT, HubLife } from '../world/hub-life.ts'
import type { Line } from '../world/lines.ts'
import { running } from '../world/virtual-time.ts'
import { Wishes } from './wishes.ts'

const MINUTE_MS = 60_000
/** Longest pause between attempts to reach the hub. */
const RETRY_S = 30
/** Time after which a gateway knows of a refused connection; a cut line shows by requests without an answer. */
const REFUSED_MS = MINUTE_MS
const CUT_MS = 150_000
const BACK_MS = RETRY_S * 1_000 + MINUTE_MS
const DRAINED_MS = 20 * MINUTE_MS
/** Longest time until a row is sent while the hub responds. */
const FRESH_MS = 30_000
const SOLID_MS = 3 * MINUTE_MS
/** Times after which the alert is due, from the documentation of alerts. */
const ALERT_MS = 60 * MINUTE_MS
const MOVED_ALERT_MS = 5 * MINUTE_MS
const PATIENCE_MS = 2 * MINUTE_MS
const WELL = ['in_sync', 'draining', 'comparing']
const NO_CONTACT = ['connecting', 'waiting']
/** Lines of the log that faults between gateway and hub explain. */
const EXPLAINED: readonly RegExp[] = [
  /"state":"waiting".*replication is interrupted/,
  /disk full|the database is starting up/,
]
const MOVED: readonly RegExp[] = [/used on another host/, /"state":"other_machine"/]
const RESTORED: readonly RegExp[] = [
  /the database was replaced .* since the gateway was stopped/,
  /started a new replication epoch/,
  /"state":"waiting","detail":"restored/,
]

type Cut = Extract<Entry, { kind: 'hub-cut' }>

/** Returns the part of the plan's hub, if it has one. */
export function createHeadOffice(bottle: Bottle): Part[] {
  const { hub = 'none' } = bottle.plan
  if (hub === 'none') return []
  const onLog = (line: string) => bottle.logged(line)
  return [
    new HeadOffice(bottle, new HubLife({ time: bottle.time, kind: hub, dataDir: join(bottle.folder, 'hub'), onLog })),
  ]
}

/** The hub, the line to it, and the folder and computer of the gateway. */
class HeadOffice implements Part {
  readonly checks: readonly Check[]
  readonly hub: HubLife
  readonly #bottle: Bottle
  readonly #wishes: Wishes
  readonly #rows: Replication
  readonly #cuts = new Set<Cut>()
  #delays: number[] = []
  #faultUntilMs = 0
  siteId = ''
  /** Time of the last change of what lies between gateway and hub. */
  changedAtMs = 0
  /** Time since which they reach each other, or do not. */
  #sinceMs = 0
  #wasReachable = true
  /** Time at which they had last reached each other for some minutes. */
  #solidMs = 0
  #isMoved = false
  #home = 'first'
  #movedAtMs = Number.NEGATIVE_INFINITY
  #restoredAtMs = Number.NEGATIVE_INFINITY
  #copiedAtMs: number | null = null
  #epoch: string | null = null
  /** `may` change after a restore; `must` if the hub has more than the restored database. */
  #newEpoch: 'may' | 'must' | null = null
  #inSyncMs = 0
  readonly #wrongStates: Finding[] = []
  readonly #wrongEpochs: Finding[] = []

  constructor(bottle: Bottle, hub: HubLife) {
    this.#bottle = bottle
    this.hub = hub
    this.#wishes = new Wishes(bottle, this)
    this.#rows = new Replication(bottle, this)
    bottle.lines.onOpen.push((line) => this.#apply(line))
    this.checks = [
      {
        number: 27,
        claim: 'the alert sync is open after an hour without the hub, or minutes on another computer',
        when: 'look',
        find: () => this.#compareAlert(),
      },
      this.#rows.check,
      {
        number: 38,
        claim: 'the epoch changes after a restore, and only then',
        when: 'look',
        find: () => this.#wrongEpochs.splice(0),
      },
      {
        number: 39,
        claim: 'the state of the replication is what lies between gateway and hub',
        when: 'look',
        find: () => this.#wrongStates.splice(0),
      },
      this.#wishes.check,
    ]
  }

  /** True if nothing between gateway and hub keeps data back. */
  get isReachable(): boolean {
    return this.hub.isRunning && this.#cuts.size === 0 && this.hub.fault === null && !this.#isMoved
  }

  /** Time for which gateway and hub have been as they are. */
  get stableMs(): number {
    const { time, life } = this.#bottle
    return life.isRunning ? time.nowMs - Math.max(this.changedAtMs, life.startedAtMs) : 0
  }

  get restoredAtMs(): number {
    return this.#restoredAtMs
  }

  async prepare(): Promise<void> {
    const { time, settings, overrides, folder } = this.#bottle
    for (const name of ['first', 'second']) {
      mkdirSync(join(folder, name, 'etc'), { recursive: true })
      writeFileSync(
        join(folder, name, 'etc', 'machine-id'),
        `${name === 'first' ? '3' : '4'}d1219c7c4c5404aaa1f6d2a48adfda4\n`,
      )
    }
    await time.until('the start of the hub', this.hub.start(), 300_000)
    const { siteId, key } = await time.until('a new site', this.hub.addSite('Bottle'))
    this.siteId = siteId
    Object.assign(overrides, { machineRoot: join(folder, this.#home) })
    Object.assign(settings, {
      CARTBARN_UPSTREAM_URL: `http://127.0.0.1:${HUB_PORT}`,
      CARTBARN_UPSTREAM_KEY: key,
      CARTBARN_SITE_ID: siteId,
      CARTBARN_UPSTREAM_INTENTS: 'all',
      CARTBARN_UPSTREAM_RETRY_S: String(RETRY_S),
    })
  }

  setUp(): Promise<void> {
    return this.#wishes.setUp()
  }

  start(): void {
    this.#changed()
    setInterval(() => this.#sample(), MINUTE_MS)
  }

  async perform(entry: Entry): Promise<void> {
    const { kind } = entry
    if (kind === 'hub-kill') this.#killAfter(entry.turns, entry.downMs)
    else if (kind === 'hub-cut') this.#cut(entry)
    else if (kind === 'hub-slow') this.#slow(entry.delayMs, entry.forMs)
    else if (kind === 'hub-fault') this.#fail(entry.fault, entry.forMs)
    else if (kind === 'machine') await this.#move(entry.to)
    else if (kind === 'copy') await this.#copy()
    else if (kind === 'restore') await this.#restore(entry.isWhole)
    else if (kind === 'intent') await this.#wishes.ask(entry)
  }

  #changed(explained: readonly RegExp[] = []): void {
    const { time, explained: all } = this.#bottle
    for (const one of explained) if (!all.includes(one)) all.push(one)
    this.changedAtMs = time.nowMs
    if (this.isReachable === this.#wasReachable) return
    if (!this.isReachable && time.nowMs - this.#sinceMs >= SOLID_MS) this.#solidMs = time.nowMs
    this.#wasReachable = this.isReachable
    this.#sinceMs = time.nowMs
    if (this.isReachable) this.#probe(time.nowMs + MINUTE_MS)
  }

  #killAfter(turns: number, downMs: number): void {
    const { program } = this.hub
    if (program === null || !this.hub.isRunning) return
    let left = turns
    program.onTurn = () => {
      if (left-- > 0) return
      program.onTurn = null
      this.hub.kill()
      running.exit(() => setTimeout(() => this.#startHub(), downMs))
      this.#changed(EXPLAINED)
    }
  }

  #startHub(): void {
    const over = () => this.#changed()
    // without its database it does not start, and its service manager tries again
    this.hub.start().then(over, () => setTimeout(() => this.#startHub(), 10_000))
  }

  #cut(cut: Cut): void {
    this.#cuts.add(cut)
    this.#changed(EXPLAINED)
    for (const line of this.#lines()) this.#apply(line)
    setTimeout(() => {
      this.#cuts.delete(cut)
      this.#changed()
      for (const line of this.#lines()) {
        line.mend()
        this.#apply(line)
      }
    }, cut.forMs)
  }

  #slow(delayMs: number, forMs: number): void {
    this.#delays.push(delayMs)
    const apply = () => {
      for (const line of this.#lines()) this.#apply(line)
      this.#changed(EXPLAINED)
    }
    apply()
    setTimeout(() => {
      this.#delays.splice(this.#delays.indexOf(delayMs), 1)
      apply()
    }, forMs)
  }

  #fail(fault: 'full' | 'down', forMs: number): void {
    const { time } = this.#bottle
    this.#faultUntilMs = Math.max(this.#faultUntilMs, time.nowMs + forMs)
    this.hub.fault = fault
    this.#changed(EXPLAINED)
    setTimeout(() => {
      if (this.#faultUntilMs > time.nowMs) return
      this.hub.fault = null
      this.#changed()
    }, forMs)
  }

  #lines(): Line[] {
    return [...this.#bottle.lines.open].filter(({ port }) => port === HUB_PORT)
  }

  #apply(line: Line): void {
    if (line.port !== HUB_PORT) return
    for (const { ends } of this.#cuts) line.cut(ends)
    line.delayMs = Math.max(0, ...this.#delays)
  }

  async #move(to: 'other' | 'home' | 'confirmed'): Promise<void> {
    const { time, folder, overrides } = this.#bottle
    const away = this.#home === 'first' ? 'second' : 'first'
    if ((to === 'other') === this.#isMoved) return
    const begin = (isMoved: boolean) => {
      this.#isMoved = isMoved
      this.#movedAtMs = time.nowMs
      this.#changed(MOVED)
    }
    if (to === 'confirmed') {
      if ((await this.#bottle.ask('POST', '/machine/confirm'))?.status !== 200) return
      this.#home = away
      begin(false)
    } else
      await this.#whileStopped(() => {
        Object.assign(overrides, { machineRoot: join(folder, to === 'other' ? away : this.#home) })
        begin(to === 'other')
      })
  }

  async #copy(): Promise<void> {
    const { folder, time } = this.#bottle
    await this.#whileStopped(() => {
      rmSync(join(folder, 'copy'), { recursive: true, force: true })
      cpSync(join(folder, 'gateway'), join(folder, 'copy'), { recursive: true })
      this.#copiedAtMs = time.nowMs
    })
  }

  /** Puts the copy back: all files, or the database alone. */
  async #restore(isWhole: boolean): Promise<void> {
    const { folder, time, restores, carts, commands } = this.#bottle
    const fromMs = this.#copiedAtMs
    if (fromMs === null || this.#isMoved) return
    this.#copiedAtMs = null
    const cursors = await this.cursorsOf(this.#epoch ?? '')
    await this.#whileStopped(() => {
      const [from, to] = [join(folder, 'copy'), join(folder, 'gateway')]
      this.#wishes.forget()
      for (const name of readdirSync(from))
        if (isWhole ? !name.endsWith('-lock') : name.startsWith('cartbarn.db'))
          writeFileSync(join(to, name), readFileSync(join(from, name)))
      const rows = openRows(to)
      const isAhead = [...cursors].some(([stream, seq]) => seq > rows.endOf(stream))
      rows.close()
      this.#newEpoch = isAhead ? 'must' : 'may'
      this.#restoredAtMs = time.nowMs
      restores.push({ fromMs, toMs: time.nowMs })
      this.#changed([...RESTORED, ...EXPLAINED])
      for (const cart of carts) {
        for (const atMs of cart.samples.keys()) if (atMs > fromMs - 60 * MINUTE_MS) cart.samples.set(atMs, false)
        const lost = cart.lockEvents.findIndex(({ atMs }) => atMs >= fromMs)
        if (lost >= 0) cart.lockEvents.splice(lost)
      }
      commands.length = 0
    })
  }

  /** Does something between a stop of the gateway and its next start, unless it is killed meanwhile. */
  async #whileStopped(work: () => void): Promise<void> {
    const { life, kills, time } = this.#bottle
    const { program } = life
    if (program === null || !life.isRunning) return
    const { promise: dead, resolve } = Promise.withResolvers<void>()
    program.onDeath(resolve)
    const killsBefore = kills.push(time.nowMs)
    await time.until('the stop of the gateway', Promise.race([life.stop(), dead]), STOP_MS)
    if (kills.length !== killsBefore) return
    life.disk.beside(work)
    await time.until('the start of the gateway', life.start(), 300_000)
  }

  /** Positions that the hub has of an epoch. */
  async cursorsOf(epoch: string): Promise<Map<string, number>> {
    const { server } = this.hub
    const sql = 'SELECT stream, seq FROM sync_cursor WHERE site_id = $1 AND epoch = $2'
    const rows = server?.all<{ stream: string; seq: number }>(sql, [this.siteId, epoch]) ?? Promise.resolve([])
    return new Map((await this.#bottle.time.until('cursors', rows)).map(({ stream, seq }) => [stream, seq]))
  }

  /** Looks often after an outage, when a gateway has a backlog for a moment only. */
  #probe(untilMs: number): void {
    const { life, time } = this.#bottle
    if (time.nowMs > untilMs || !this.isReachable || !life.isRunning) return
    life.request('GET', '/sync/status').then(
      ({ status, body }) => {
        if (status === 200 && body.state === 'in_sync') void this.#rows.probe(body.details.epoch)
      },
      () => undefined,
    )
    setTimeout(() => this.#probe(untilMs), 1_000)
  }

  /** Compares the state that the gateway shows with the truth at this moment. */
  #sample(): void {
    const { life } = this.#bottle
    this.#wishes.sample()
    this.#rows.sample()
    if (!life.isRunning) return
    const truth = { isReachable: this.isReachable, stableMs: this.stableMs }
    const asked = life.request('GET', '/sync/status')
    asked.then(
      ({ status, body }) => {
        if (status !== 200 || this.stableMs !== truth.stableMs) return
        this.#compareState(body, truth.isReachable, truth.stableMs)
        this.#compareEpoch(body.details.epoch)
        if (body.state === 'in_sync') void this.#rows.probe(body.details.epoch)
      },
      () => undefined,
    )
  }

  // biome-ignore lint/suspicious/noExplicitAny: a response, as in bottle.ts
  #compareState({ state, details }: any, isReachable: boolean, stableMs: number): void {
    const { nowMs } = this.#bottle.time
    const wrong = (is: string, expected: string) => this.#wrongStates.push({ subject: 'sync', is, expected })
    // in a later epoch, the name of draining
    const forked = this.#restoredAtMs > 0 ? ['forked'] : []
    const moved = this.#isMoved || nowMs - this.#movedAtMs < BACK_MS ? ['other_machine'] : []
    let expected = [...WELL, ...NO_CONTACT, ...forked, ...moved]
    if (this.#isMoved && stableMs >= REFUSED_MS) expected = ['other_machine']
    else if (isReachable && stableMs >= BACK_MS) expected = [...WELL, ...forked]
    else if (!isReachable && !this.#isMoved && stableMs >= (this.#cuts.size > 0 ? CUT_MS : REFUSED_MS))
      expected = NO_CONTACT
    // rows of the last seconds are a backlog, for these seconds
    const isFresh = ({ oldest_at: oldestAt }: { oldest_at: string | null }) =>
      oldestAt === null || Date.parse(oldestAt) > nowMs - FRESH_MS
    const isInSync = state === 'in_sync' || (state === 'draining' && details.streams.every(isFresh))
    if (isInSync || stableMs < DRAINED_MS || nowMs - this.#restoredAtMs < 2 * DRAINED_MS) this.#inSyncMs = nowMs
    else if (isReachable && nowMs - this.#inSyncMs > DRAINED_MS) expected = ['in_sync']
    if (!expected.includes(state))
      wrong(`${state} for ${stableMs / 1000} s ${isReachable ? 'in' : 'out of'} reach`, expected.join(' or '))
    const contactMs = Date.parse(details.last_contact_at ?? 0)
    if (contactMs > nowMs) wrong(`last contact at ${details.last_contact_at}`, 'a time that has passed')
    if (isReachable && stableMs >= BACK_MS && contactMs < nowMs - MINUTE_MS)
      wrong(`last contact at ${details.last_contact_at}`, 'one in the last minute')
    const isSilent = !this.hub.isRunning || [...this.#cuts].some(({ ends }) => ends !== 'client')
    if (isSilent && contactMs > this.changedAtMs + 10_000)
      wrong(`last contact at ${details.last_contact_at}`, `none since ${new Date(this.changedAtMs).toISOString()}`)
    if ((details.retry_in_s === null) !== [...WELL, ...forked].includes(state) && state !== 'other_machine')
      wrong(`${state} with retry_in_s ${details.retry_in_s}`, 'a time to the next attempt only without contact')
  }

  #compareEpoch(epoch: string): void {
    const before = this.#epoch
    const isSettled = this.isReachable && this.stableMs >= BACK_MS
    this.#epoch = epoch
    if (before !== null && epoch !== before) {
      if (this.#newEpoch === null)
        this.#wrongEpochs.push({ subject: 'sync', is: `epoch ${epoch}`, expected: `${before}: nothing was restored` })
      this.#newEpoch = null
    } else if (isSettled && this.#newEpoch !== null) {
      if (this.#newEpoch === 'must')
        this.#wrongEpochs.push({ subject: 'sync', is: `epoch ${epoch} after a restore`, expected: 'a new epoch' })
      this.#newEpoch = null
    }
  }

  async #compareAlert(): Promise<Finding[]> {
    const { life, time } = this.#bottle
    const answer = await this.#bottle.ask('GET', '/alerts?limit=1000&state=open&kind=sync')
    if (answer === null || !life.isRunning) return []
    const { nowMs } = time
    const isOpen = answer.body.alerts.length > 0
    const sinceMs = nowMs - Math.max(this.#sinceMs, life.startedAtMs)
    const isPure = !this.isReachable && nowMs - this.#movedAtMs > sinceMs
    const isDue = this.#isMoved
      ? nowMs - Math.max(this.#movedAtMs, life.startedAtMs) >= MOVED_ALERT_MS + PATIENCE_MS
      : isPure && sinceMs >= ALERT_MS + PATIENCE_MS
    const solidMs = this.isReachable ? nowMs : this.#solidMs
    const mayBeOpen =
      nowMs - this.#restoredAtMs < 2 * DRAINED_MS ||
      nowMs - this.#movedAtMs < 2 * DRAINED_MS ||
      this.#isMoved ||
      (this.isReachable ? this.stableMs < SOLID_MS : nowMs - solidMs >= ALERT_MS - PATIENCE_MS)
    if (isDue && !isOpen) return [{ subject: 'sync', is: 'no alert', expected: `one, after ${sinceMs / 60_000} min` }]
    if (isOpen && !isDue && !mayBeOpen)
      return [{ subject: 'sync', is: 'an open alert', expected: `none, ${sinceMs / 60_000} min after the last change` }]
    return []
  }
}
